package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"lockstep/cluster/shard"
)

// Result is what became of a command when it was applied.
type Result struct {
	// Index is its place in the log; a View with at least this Index shows it.
	Index uint64 `json:"index"`
	// Changed tells whether there was anything to do.
	Changed bool `json:"changed"`
	// Err is nil or a *Refusal.
	Err error `json:"-"`
}

// maxSnapshotBytes bounds what Restore reads; the bounds of the state keep a
// snapshot far below it.
const maxSnapshotBytes = 64 << 20

// maxExpected bounds the commands that this node waits for.
const maxExpected = 1024

// Machine is one node's replica of the meta group's state. It is a
// shard.StateMachine: Apply, Snapshot and Restore are called by one goroutine;
// everything else may be called by any.
type Machine struct {
	view atomic.Pointer[View]

	mu struct {
		sync.Mutex
		// expected are the commands that this node proposed and waits for.
		expected map[uint64]chan<- Result
		// advanced is closed and replaced whenever a command was applied.
		advanced chan struct{}
		// listeners are told of changes, in the order they came.
		listeners []func(*View)
	}
}

// NewMachine returns a machine that knows of no cluster yet.
func NewMachine() *Machine {
	m := &Machine{}
	v := &View{Settings: map[string]string{}}
	v.finish()
	m.view.Store(v)
	m.mu.expected = map[uint64]chan<- Result{}
	m.mu.advanced = make(chan struct{})
	return m
}

// View returns the state as it is now on this node.
func (m *Machine) View() *View { return m.view.Load() }

// OnChange has fn called with each new view that differs from the one before,
// from the next on, in order, on the goroutine that applies: fn must not block.
func (m *Machine) OnChange(fn func(*View)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.listeners = append(m.mu.listeners, fn)
}

// Wait returns the first view, from now on, that satisfies ok.
func (m *Machine) Wait(ctx context.Context, ok func(*View) bool) (*View, error) {
	for {
		m.mu.Lock()
		advanced := m.mu.advanced
		m.mu.Unlock()
		if v := m.View(); ok(v) {
			return v, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-advanced:
		}
	}
}

// Apply runs one committed entry. An error means that this node cannot go on.
func (m *Machine) Apply(index uint64, data []byte) error {
	id, command, err := decodeCommand(data)
	if err != nil {
		return fmt.Errorf("entry %d of the meta group: %w", index, err)
	}
	result := Result{Index: index}
	next := m.View().clone()
	next.Index = index
	result.Changed, result.Err = command.apply(next)
	if !result.Changed {
		// Only the index moves. A refused command may not be trusted to have
		// left its view alone.
		same := *m.View()
		next = &same
		next.Index = index
	} else {
		if err := CheckVersion(next.ClusterVersion); err != nil {
			return fmt.Errorf("entry %d of the meta group: %w", index, err)
		}
		next.Epoch++
		next.finish()
	}
	m.publish(next, result.Changed)
	m.deliver(id, result)
	return nil
}

// publish makes v the current view and wakes who waits for it.
func (m *Machine) publish(v *View, changed bool) {
	m.view.Store(v)
	m.mu.Lock()
	close(m.mu.advanced)
	m.mu.advanced = make(chan struct{})
	listeners := m.mu.listeners
	m.mu.Unlock()
	if !changed {
		return
	}
	for _, fn := range listeners {
		fn(v)
	}
}

// expect has the result of command id delivered to the returned channel.
func (m *Machine) expect(id uint64) (<-chan Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.mu.expected) >= maxExpected {
		return nil, errBusy
	}
	c := make(chan Result, 1)
	m.mu.expected[id] = c
	return c, nil
}

var errBusy = errors.New("meta: too many commands are waiting")

// forget ends what expect began.
func (m *Machine) forget(id uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.expected, id)
}

func (m *Machine) deliver(id uint64, r Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.mu.expected[id]; ok {
		c <- r // has room for the only result it will get
		delete(m.mu.expected, id)
	}
}

// Snapshot captures the state after the last applied command.
func (m *Machine) Snapshot() (shard.Snapshot, error) {
	return snapshot{m.View()}, nil
}

// snapshot needs no copy: a view never changes.
type snapshot struct{ view *View }

// Persist writes the snapshot.
func (s snapshot) Persist(w io.Writer) error {
	body, err := json.Marshal(s.view)
	if err != nil {
		return err
	}
	_, err = w.Write(seal(snapshotMagic, body))
	return err
}

// Release implements shard.Snapshot.
func (s snapshot) Release() {}

// Restore replaces the state by a snapshot's. Commands that this node still
// waits for may be in it; their results are not, so their proposers ask again.
func (m *Machine) Restore(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxSnapshotBytes+1))
	if err != nil {
		return err
	}
	v, err := readSnapshot(data)
	if err != nil {
		return err
	}
	m.publish(v, true)
	return nil
}

// readSnapshot is the state that a snapshot holds.
func readSnapshot(data []byte) (*View, error) {
	if len(data) > maxSnapshotBytes {
		return nil, fmt.Errorf("snapshot of the meta group: %w: longer than %d bytes", ErrCorrupt, maxSnapshotBytes)
	}
	body, err := unseal(snapshotMagic, data)
	if err != nil {
		return nil, fmt.Errorf("snapshot of the meta group: %w", err)
	}
	v := &View{}
	if err := strictJSON(body, v); err != nil {
		return nil, fmt.Errorf("snapshot of the meta group: %w", err)
	}
	if err := CheckVersion(v.ClusterVersion); err != nil {
		return nil, fmt.Errorf("snapshot of the meta group: %w", err)
	}
	if v.Settings == nil {
		v.Settings = map[string]string{}
	}
	if err := checkShards(v.Shards); err != nil {
		return nil, fmt.Errorf("snapshot of the meta group: %w", err)
	}
	v.finish()
	return v, nil
}

// Arrival judges a snapshot that another node sends (raftio.Arrival). Its zero value is
// ready.
type Arrival struct{ data []byte }

// Write implements io.Writer. What is too long for a snapshot is not kept.
func (a *Arrival) Write(b []byte) (int, error) {
	a.data = append(a.data, b[:min(len(b), maxSnapshotBytes+1-len(a.data))]...)
	return len(b), nil
}

// Err implements raftio.Arrival. A snapshot of a newer program is whole: it ends this one,
// in words, when it is read.
func (a *Arrival) Err() error {
	if len(a.data) > maxSnapshotBytes {
		return fmt.Errorf("%w: longer than %d bytes", ErrCorrupt, maxSnapshotBytes)
	}
	if _, err := unseal(snapshotMagic, a.data); !errors.Is(err, ErrVersion) {
		return err
	}
	return nil
}

var _ shard.StateMachine = (*Machine)(nil)
