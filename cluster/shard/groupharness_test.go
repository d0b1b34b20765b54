package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/transport"
	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/ring"
)

// counter is a state machine whose state depends on every entry and their
// order: n entries, and a hash chained over them.
type counter struct {
	mu    sync.Mutex
	n     uint64
	chain uint64
	last  uint64
	// poison is the entry that cannot be applied.
	poison string
	seen   map[string]bool
}

func (c *counter) Apply(index uint64, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.poison != "" && string(data) == c.poison {
		return errors.New("poison")
	}
	c.n++
	c.last = index
	for _, b := range data {
		c.chain = (c.chain ^ uint64(b)) * 1099511628211
	}
	c.chain += index
	if c.seen != nil {
		c.seen[string(data)] = true
	}
	return nil
}

func (c *counter) Snapshot() (Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := binary.LittleEndian.AppendUint64(nil, c.n)
	return counterSnapshot(binary.LittleEndian.AppendUint64(b, c.chain)), nil
}

func (c *counter) Restore(r io.Reader) error {
	var b [16]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.chain = binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
	return nil
}

func (c *counter) state() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d/%x", c.n, c.chain)
}

func (c *counter) entries() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

type counterSnapshot []byte

func (s counterSnapshot) Persist(w io.Writer) error { _, err := w.Write(s); return err }
func (s counterSnapshot) Release()                  {}

// testNode is one node with one group. Its peers reach it only through its door.
type testNode struct {
	w     *world
	id    raft.ServerID
	dir   string
	store string
	// addr is the address where the node listens, behind its door.
	addr string
	door *door

	transport *transport.Transport
	group     *Group
	sm        *counter
	set       func(*GroupConfig)
	// shardOf, if set, makes a shard of the group. The shard has its own state machine.
	shardOf func(GroupConfig) Config
	shard   *Shard

	mu     sync.Mutex
	fatals []error
	led    []uint64
	open   bool
}

// world is a group's nodes.
type world struct {
	t     *testing.T
	mu    sync.Mutex
	nodes []*testNode
	// unequal is true if the nodes' heartbeat timeouts differ, so that leases mean
	// nothing.
	unequal bool
}

const (
	testHeartbeatMs = 250
	patience        = 40 * time.Second
)

// newWorld starts n nodes, all voters of one group.
func newWorld(t *testing.T, n int, store string, set func(*GroupConfig)) *world {
	w := &world{t: t}
	w.found(n, store, set, nil)
	return w
}

func (w *world) found(n int, store string, set func(*GroupConfig), shardOf func(GroupConfig) Config) {
	w.t.Helper()
	var servers []raft.Server
	for i := range n {
		node := w.add(fmt.Sprintf("n%d", i+1), store, set)
		node.shardOf = shardOf
		servers = append(servers, raft.Server{ID: node.id, Address: raft.ServerAddress(node.door.addr)})
	}
	for _, node := range w.nodes {
		node.start()
	}
	for _, node := range w.nodes {
		w.must(node.group.Bootstrap(servers))
	}
}

// add makes a node without starting it.
func (w *world) add(id, store string, set func(*GroupConfig)) *testNode {
	n := &testNode{w: w, id: raft.ServerID(id), dir: w.t.TempDir(), store: store, addr: ports.FreeAddr(w.t), door: newDoor(w.t), set: set}
	w.mu.Lock()
	w.nodes = append(w.nodes, n)
	w.mu.Unlock()
	w.t.Cleanup(n.stop)
	return n
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

func (n *testNode) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(n.w.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})).With("node", string(n.id))
}

// start opens the node from its folder.
func (n *testNode) start() {
	n.w.t.Helper()
	log := n.log()
	var err error
	n.transport, err = transport.Listen(transport.Config{
		Ring: ring.Shared(), Listen: []string{n.addr}, Advertise: n.door.addr, NodeID: string(n.id),
		ClusterID: func() string { return "test" }, Log: log,
	})
	n.w.must(err)
	n.door.leadTo(n.addr)
	n.sm = &counter{}
	cfg := GroupConfig{
		ID: 3, Dir: n.dir, LogStore: n.store, LocalID: n.id, LocalAddr: raft.ServerAddress(n.door.addr),
		Transport: n.transport, SM: n.sm, HeartbeatMs: testHeartbeatMs, ElectionMs: testHeartbeatMs,
		SnapshotEntries: 1 << 30, TrailingEntries: 1 << 20,
		OnLeader: n.leads, OnLost: n.lost, Fatal: n.fatal, Log: log,
	}
	if n.set != nil {
		n.set(&cfg)
	}
	group, err := n.openGroup(cfg)
	n.w.must(err)
	n.mu.Lock()
	n.group, n.open = group, true
	n.mu.Unlock()
	n.transport.Serve()
}

func (n *testNode) openGroup(cfg GroupConfig) (*Group, error) {
	if n.shardOf == nil {
		return OpenGroup(cfg)
	}
	s, err := Open(n.shardOf(cfg))
	if err != nil {
		return nil, err
	}
	n.shard = s
	return s.Group(), nil
}

func (n *testNode) shutdown(ctx context.Context) error {
	if n.shard != nil {
		return n.shard.Close(ctx)
	}
	return n.group.Shutdown(ctx)
}

// stop closes the node but keeps its folder.
func (n *testNode) stop() {
	n.mu.Lock()
	open := n.open
	n.open = false
	n.mu.Unlock()
	if !open {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.shutdown(ctx); err != nil {
		n.w.t.Errorf("%s: shutdown: %v", n.id, err)
	}
	n.transport.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.led) != 0 {
		n.w.t.Errorf("%s was never told that it lost term %v", n.id, n.led)
	}
}

// leads also checks, at every election in every test, that no other node still holds a lease.
func (n *testNode) leads(term uint64) {
	n.mu.Lock()
	if len(n.led) != 0 {
		n.w.t.Errorf("%s leads term %d before it was told that it lost %v", n.id, term, n.led)
	}
	n.led = append(n.led, term)
	n.mu.Unlock()
	n.w.mu.Lock()
	others := append([]*testNode(nil), n.w.nodes...)
	n.w.mu.Unlock()
	for _, o := range others {
		o.mu.Lock()
		group := o.group
		o.mu.Unlock()
		if o == n || group == nil {
			continue
		}
		if t, leading := group.Leadership(); !n.w.unequal && leading && t < term && group.lease.Valid(t) {
			n.w.t.Errorf("%s leads term %d while %s has a lease of term %d", n.id, term, o.id, t)
		}
	}
}

func (n *testNode) lost(term uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.led) != 1 || n.led[0] != term {
		n.w.t.Errorf("%s lost term %d and led %v", n.id, term, n.led)
	}
	n.led = nil
}

func (n *testNode) fatal(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fatals = append(n.fatals, err)
}

func (n *testNode) ended() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]error(nil), n.fatals...)
}

// until waits for a condition.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			for _, n := range w.nodes {
				if n.group != nil {
					w.t.Logf("%s: %+v %s ended %v", n.id, n.group.Stats(), n.sm.state(), n.ended())
				}
			}
			w.t.Fatalf("not in time: %s", what)
		}
		<-tick.C
	}
}

// leader waits until one of the nodes leads.
func (w *world) leader(among ...*testNode) *testNode {
	w.t.Helper()
	if len(among) == 0 {
		among = w.nodes
	}
	var found *testNode
	w.until("a leader", func() bool {
		for _, n := range among {
			if n.open && n.group.IsLeader() {
				found = n
				return true
			}
		}
		return false
	})
	return found
}

// others returns all nodes except one.
func (w *world) others(but *testNode) []*testNode {
	var others []*testNode
	for _, n := range w.nodes {
		if n != but {
			others = append(others, n)
		}
	}
	return others
}

// write proposes entries to the current leader until k are committed.
func (w *world) write(k int, among ...*testNode) {
	w.t.Helper()
	w.until("writes", func() bool {
		if k == 0 {
			return true
		}
		if err := w.leader(among...).group.Append(w.ctx(), fmt.Appendf(nil, "entry %d", k)); err == nil {
			k--
		}
		return false
	})
}

// agree waits until the nodes have applied the same entries, and all that are committed.
func (w *world) agree(nodes ...*testNode) {
	w.t.Helper()
	if len(nodes) == 0 {
		nodes = w.nodes
	}
	w.until("agreement", func() bool {
		commit := uint64(0)
		for _, n := range nodes {
			commit = max(commit, n.group.Stats().CommitIndex)
		}
		for _, n := range nodes {
			if n.group.Stats().Applied < commit || n.sm.state() != nodes[0].sm.state() {
				return false
			}
		}
		return true
	})
}

// unequalClocks gives the first node such a long heartbeat timeout that its lease ends in no test,
// and that it believes it leads however long it hears no other node.
func unequalClocks(c *GroupConfig) {
	if c.LocalID == "n1" {
		c.HeartbeatMs, c.ElectionMs = 60_000, 60_000
	}
}

// steady gives the nodes such a long heartbeat timeout that a busy machine causes no election.
func steady(c *GroupConfig) { c.HeartbeatMs, c.ElectionMs = 1500, 1500 }

// patient makes nodes wait for their leader longer than any busy machine delays it, or only as long
// as usual.
func patient(nodes []*testNode, yes bool) {
	timeout := ms(testHeartbeatMs)
	if yes {
		timeout = ms(longMs)
	}
	for _, n := range nodes {
		n.w.must(n.group.tuning.change(n.group.raft.Load(), func(c *raft.ReloadableConfig) {
			c.HeartbeatTimeout, c.ElectionTimeout = timeout, timeout
		}))
	}
}

// lead makes the first node lead, which would not be elected by itself. The others are patient with
// it.
func (w *world) lead(write func(among ...*testNode)) (n *testNode, rest []*testNode) {
	w.t.Helper()
	w.unequal = true
	n, rest = w.nodes[0], w.nodes[1:]
	write(rest...)
	w.until("a transfer", func() bool {
		for _, other := range rest {
			if other.group.IsLeader() {
				w.caughtUp(other, n)
				_ = other.group.TransferTo(w.ctx(), n.id)
			}
		}
		if !n.group.IsLeader() {
			return false
		}
		// For a replica that is already a candidate the patience comes too late.
		patient(rest, true)
		for _, other := range rest {
			if s := other.group.Stats(); s.Role != "follower" || s.LeaderID != n.id || s.Term != n.group.Term() || !n.group.IsLeader() {
				patient(rest, false)
				return false
			}
		}
		return true
	})
	write(n)
	return n, rest
}

// caughtUp waits until the leader knows that a member has all of its log, or no longer leads.
func (w *world) caughtUp(leader, member *testNode) {
	w.t.Helper()
	w.until("a member to catch up", func() bool {
		last := leader.group.Stats().LastIndex
		return leader.group.Progress(member.id) >= last || !leader.group.IsLeader()
	})
}
