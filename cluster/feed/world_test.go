package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/cluster/shard"
	"lockstep/engine/command"
	"lockstep/fsm"
)

const patience = 40 * time.Second

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !condition(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// node has a replica of shard 0, in which each change is an entry.
type node struct {
	source           *Source
	queued, executed atomic.Uint64
	// fresh is true if the node does not vote yet, orphan if it knows no leader, and gone if it is
	// closed.
	fresh, orphan, gone atomic.Bool
	// leads is true if the node is the leader.
	leads atomic.Bool
	// mu keeps the entries in order.
	mu sync.Mutex
}

func newNode() *node {
	n := &node{}
	n.leads.Store(true)
	n.source = NewSource(1, func(int) Replica {
		if n.gone.Load() {
			return nil
		}
		return n
	})
	n.source.beat = 5 * time.Millisecond
	return n
}

func (n *node) Queued() uint64 { return n.queued.Load() }
func (n *node) Executed() uint64 {
	return n.executed.Load()
}
func (n *node) Votes() bool { return !n.fresh.Load() }
func (n *node) Leader() shard.Leader {
	if n.orphan.Load() {
		return shard.Leader{}
	}
	return shard.Leader{Addr: "leader", Self: n.leads.Load()}
}

// run applies one entry that changes keys, as the state machine does.
func (n *node) run(by fsm.TxnID, keys ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queued.Add(1)
	if n.source.Shard(0).Tracking() {
		n.source.Shard(0).Changed(by, named(keys...))
	}
	for _, key := range keys {
		n.source.Shard(0).Event(command.EventString, "set", 0, []byte(key))
	}
	n.executed.Store(n.queued.Load())
}

// named returns keys; "*" stands for all.
func named(keys ...string) [][]byte {
	list := make([][]byte, len(keys))
	for i, key := range keys {
		if key != "*" {
			list[i] = []byte(key)
		}
	}
	return list
}

// wire carries requests to nodes by address.
type wire struct {
	nodes map[string]*node
	// loses decides, with mu held, which of a request and its answer are lost.
	mu    sync.Mutex
	loses func(addr string, payload []byte) fate
}

type fate int

const (
	arrives fate = iota
	notSent
	answerIsLost
	silence
)

var errBroken = errors.New("the connection broke")

func (w *wire) Go(addr string, _ uint8, payload []byte, done func([]byte, error)) {
	w.mu.Lock()
	fate := arrives
	if w.loses != nil {
		fate = w.loses(addr, payload)
	}
	w.mu.Unlock()
	switch fate {
	case notSent:
		done(nil, errBroken)
	case silence:
	case answerIsLost:
		w.nodes[addr].source.Serve(payload, func([]byte) { done(nil, errBroken) })
	default:
		w.nodes[addr].source.Serve(payload, func(b []byte) { done(b, nil) })
	}
}

func (w *wire) lose(how func(addr string, payload []byte) fate) {
	w.mu.Lock()
	w.loses = how
	w.mu.Unlock()
}

// gateway is a node that has no replica, and what it received.
type gateway struct {
	*Consumer
	changes atomic.Bool
	events  atomic.Uint32
	own     atomic.Bool
	ran     atomic.Uint64
	doubts  atomic.Int64
	// looked counts the calls of Wants.
	looked atomic.Int64
	// breaks makes the next change panic.
	breaks atomic.Bool
	addrs  atomic.Pointer[[]string]

	mu    sync.Mutex
	heard []string
	muted []bool
}

const (
	gatewayNode = 7
	gatewayBoot = 3
)

func newGateway(t testing.TB, w *wire, addrs ...string) *gateway {
	g := &gateway{}
	g.addrs.Store(&addrs)
	g.Consumer = NewConsumer(Config{
		Shards: 1, Node: gatewayNode, Sink: g, Peers: w,
		Wants: func() (bool, command.EventClass) {
			g.looked.Add(1)
			return g.changes.Load(), command.EventClass(g.events.Load())
		},
		Own:      func(int) bool { return g.own.Load() },
		Queued:   func(int) uint64 { return g.ran.Load() },
		Executed: func(int) uint64 { return g.ran.Load() },
		Leader:   func(int) string { return (*g.addrs.Load())[0] },
		Replicas: func(int) []string { return *g.addrs.Load() },
		Doubt:    func(int) { g.doubts.Add(1) },
	})
	g.pace = pace{open: patience, poll: patience, resume: patience / 2, first: time.Millisecond, most: 5 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		g.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return g
}

func (g *gateway) hears(word string) {
	g.mu.Lock()
	g.heard = append(g.heard, word)
	g.mu.Unlock()
}

func (g *gateway) Gap(int) { g.hears("(unheard)") }

func (g *gateway) Changed(_ int, by fsm.TxnID, keys [][]byte) {
	if g.breaks.CompareAndSwap(true, false) {
		panic("broken by hand")
	}
	for _, key := range keys {
		word := string(key)
		if key == nil {
			word = "*"
		}
		if by.Node == gatewayNode && by.Boot == gatewayBoot {
			word += fmt.Sprintf("(own %d/%d)", by.Lane, by.Seq)
		}
		g.hears(word)
	}
}

func (g *gateway) Event(_ int, class command.EventClass, event string, db int, key []byte) {
	g.hears(fmt.Sprintf("%d:%s:%d:%s", class, event, db, key))
}

func (g *gateway) Mute(_ int, muted bool) {
	g.mu.Lock()
	g.muted = append(g.muted, muted)
	g.mu.Unlock()
}

func (g *gateway) soFar() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.heard...)
}

// track waits until changes will be reported.
func (g *gateway) track(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer g.AwaitChanges(ctx)()
	g.changes.Store(true)
	if ctx.Err() != nil {
		t.Fatal("no feed")
	}
}

// listen waits until events of the classes will be reported.
func (g *gateway) listen(t testing.TB, classes command.EventClass) {
	t.Helper()
	g.events.Store(uint32(classes))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if g.AwaitEvents(ctx); ctx.Err() != nil {
		t.Fatal("no feed")
	}
}

func (g *gateway) wants(t testing.TB, want ...string) {
	t.Helper()
	var got []string
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if got = g.soFar(); len(got) >= len(want) {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("heard %.300v of %d, not %.300v of %d", fmt.Sprint(got), len(got), fmt.Sprint(want), len(want))
	}
	g.mu.Lock()
	g.heard = nil
	g.mu.Unlock()
}
