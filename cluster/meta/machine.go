package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"lockstep/cluster/shard"
)

// Result is the outcome of a command.
type Result struct {
	// Index is its place in the log; a View with at least this Index shows it.
	Index uint64 `json:"index"`
	// Changed reports whether the command changed anything.
	Changed bool `json:"changed"`
	// Err is nil or a *Refusal.
	Err error `json:"-"`
}

// maxSnapshotBytes bounds what Restore reads. The bounds of the state keep a real snapshot far
// smaller.
const maxSnapshotBytes = 64 << 20

// maxExpected bounds the commands that this node waits for.
const maxExpected = 1024

// Machine is one node's replica of the meta group's state. It is a shard.StateMachine: one
// goroutine calls Apply, Snapshot and Restore; any goroutine may call the other methods.
type Machine struct {
	view atomic.Pointer[View]

	mu struct {
		sync.Mutex
		// expected are the commands that this node proposed, with the channels of all that
		// wait for each; waiting counts the channels.
		expected map[uint64][]chan<- Result
		waiting  int
		// advanced is closed and replaced after each applied command.
		advanced chan struct{}
		// listeners are called with each change, in the order in which they were registered.
		listeners []func(*View)
	}
}

// NewMachine returns a machine without a cluster.
func NewMachine() *Machine {
	m := &Machine{}
	v := &View{Settings: map[string]string{}}
	v.derive()
	m.view.Store(v)
	m.mu.expected = map[uint64][]chan<- Result{}
	m.mu.advanced = make(chan struct{})
	return m
}

// View returns this node's current view.
func (m *Machine) View() *View { return m.view.Load() }

// OnChange registers fn to be called with each new view that differs from the one before, in order.
// The goroutine that applies the log calls fn, so fn must not block.
func (m *Machine) OnChange(fn func(*View)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.listeners = append(m.mu.listeners, fn)
}

// Wait returns the first view, current or later, that satisfies ok.
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

// Apply applies one committed entry. After an error this node must stop.
func (m *Machine) Apply(index uint64, data []byte) error {
	f, command, err := decodeCommand(data)
	if err != nil {
		return fmt.Errorf("entry %d of the meta group: %w", index, err)
	}
	if d, known := m.View().find(f.ID); known {
		m.pass(index)
		m.deliver(f.ID, d.result())
		return nil
	}
	of := subjects(command)
	if err := m.View().late(f.Seen, of); err != nil {
		m.pass(index)
		m.deliver(f.ID, Result{Index: index, Err: err})
		return nil
	}
	result := Result{Index: index}
	next := m.View().clone()
	next.Index = index
	result.Changed, result.Err = command.apply(next)
	if !result.Changed {
		// Only the index moves. The copy that a refused command got is dropped: the command may
		// have changed it.
		same := *m.View()
		next = &same
		next.Index = index
	} else {
		if err := CheckVersion(next.ClusterVersion); err != nil {
			return fmt.Errorf("entry %d of the meta group: %w", index, err)
		}
		next.Epoch++
		next.derive()
	}
	if !asksOnly(command) {
		next.remember(doneOf(f.ID, of, result))
	}
	m.publish(next, result.Changed)
	m.deliver(f.ID, result)
	return nil
}

// pass publishes a view that only has a newer index: the entry changes nothing.
func (m *Machine) pass(index uint64) {
	same := *m.View()
	same.Index = index
	m.publish(&same, false)
}

// doneOf returns what the machine remembers of a command.
func doneOf(id uint64, of []string, r Result) Done {
	d := Done{ID: id, Index: r.Index, Changed: r.Changed}
	if !errors.As(r.Err, &d.Refusal) {
		d.Subjects = of // a refused command has set nothing
	}
	return d
}

// result returns the result of a remembered command.
func (d *Done) result() Result {
	r := Result{Index: d.Index, Changed: d.Changed}
	if d.Refusal != nil {
		r.Err = d.Refusal
	}
	return r
}

// publish makes v the current view and wakes the goroutines in Wait.
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

// expect registers a channel for the result of command id. The proposer calls forget when it stops
// waiting.
func (m *Machine) expect(id uint64) (done <-chan Result, forget func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.waiting >= maxExpected {
		return nil, nil, errBusy
	}
	c := make(chan Result, 1)
	m.mu.waiting++
	m.mu.expected[id] = append(m.mu.expected[id], c)
	return c, func() { m.forget(id, c) }, nil
}

var errBusy = errors.New("meta: too many commands are waiting")

// forget removes a channel that expect registered.
func (m *Machine) forget(id uint64, c chan<- Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.waiting--
	left := slices.DeleteFunc(m.mu.expected[id], func(other chan<- Result) bool { return other == c })
	if m.mu.expected[id] = left; len(left) == 0 {
		delete(m.mu.expected, id)
	}
}

func (m *Machine) deliver(id uint64, r Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.mu.expected[id] {
		c <- r // never blocks: the channel has room for one result and gets only one
	}
	delete(m.mu.expected, id)
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

// Restore replaces the state by a snapshot's. The snapshot may include commands that this node
// still waits for, but not their results, so their proposers ask again.
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

// readSnapshot reads the state from a snapshot.
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
	v.derive()
	return v, nil
}

// Arrival checks a snapshot that another node sends (raftio.Arrival). Its zero value is ready for
// use.
type Arrival struct{ data []byte }

// Write implements io.Writer. It keeps no more bytes than the longest snapshot has, and one.
func (a *Arrival) Write(b []byte) (int, error) {
	a.data = append(a.data, b[:min(len(b), maxSnapshotBytes+1-len(a.data))]...)
	return len(b), nil
}

// Err implements raftio.Arrival. A snapshot of a newer program counts as whole: when this program
// reads it, it stops with an error that says so.
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
