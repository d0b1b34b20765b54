package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
)

// world is a cluster in one process without Raft: the meta log is a slice that
// every machine applies at once, and a group is a list of servers.
type world struct {
	t *testing.T

	mu     sync.Mutex
	index  uint64
	groups map[uint32]*worldGroup
	nodes  map[string]*worldNode // by peer address
	// wrong holds the nodes whose clocks are wrong.
	wrong map[meta.NodeID]bool
}

type worldGroup struct {
	leader meta.NodeID
	// term grows with each leader.
	term    uint64
	index   uint64
	servers []Server
	// changes are all actions that were carried out, in order.
	changes []Action
}

// worldNode is one process.
type worldNode struct {
	*Manager
	w         *world
	self      meta.Node
	up        bool
	machine   *meta.Machine
	leaderRPC *leaderrpc.Client
	client    *meta.Client
	removed   chan string
}

const worldShards = 2

func newWorld(t *testing.T) *world {
	w := &world{t: t, groups: map[uint32]*worldGroup{}, nodes: map[string]*worldNode{}}
	for _, g := range []uint32{0, 1, meta.GroupID} {
		w.groups[g] = &worldGroup{}
	}
	return w
}

func nodeNamed(name string, incarnation uint64) meta.Node {
	return meta.Node{
		ID: meta.MakeNodeID(name, incarnation), Name: name, Incarnation: incarnation,
		PeerAddr: name + ":7000", ClientAddr: name + ":6379",
	}
}

// start starts a node's process. The node does not belong to a cluster yet.
func (w *world) start(self meta.Node) *worldNode {
	n := &worldNode{w: w, self: self, up: true, machine: meta.NewMachine(), removed: make(chan string, 1)}
	n.leaderRPC = leaderrpc.New(leaderrpc.Config{
		Caller: n,
		Leader: func(g uint32) (string, bool) { return w.leaderOf(g, self.ID) },
		Peers:  func() []string { return nil },
	})
	n.client = meta.NewClient(n.machine, worldLog{n}, n.leaderRPC, nil)
	w.mu.Lock()
	w.nodes[self.PeerAddr] = n
	w.mu.Unlock()
	n.Manager = Start(Config{
		Self: self.ID, PeerAddr: self.PeerAddr, ClusterID: "c1", Machine: n.machine, Meta: n.client, LeaderRPC: n.leaderRPC, Caller: n, Group: worldReplica{n, meta.GroupID},
		KnowsLeader: func() bool { return w.hears(self.ID) },
		OnRemoved:   func(why string) { n.removed <- why },
		ClockOff:    w.clockOff,
		Log:         quietLog(),
	})
	for g := range uint32(worldShards) {
		n.Attach(g, worldReplica{n, g})
	}
	w.t.Cleanup(n.kill)
	return n
}

// clockOff is one hour for the nodes whose clocks are wrong.
func (w *world) clockOff(id meta.NodeID) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrong[id] {
		return time.Hour
	}
	return 0
}

// kill ends a node's process; the others elect new leaders.
func (n *worldNode) kill() {
	n.w.mu.Lock()
	n.up = false
	n.w.electLocked()
	n.w.mu.Unlock()
	n.Close()
	n.leaderRPC.Close()
}

// found makes n the first node of the cluster.
func (w *world) found(n *worldNode) {
	w.mu.Lock()
	for _, g := range w.groups {
		g.servers = []Server{{ID: n.self.ID, Addr: n.self.PeerAddr, Voter: true}}
		g.leader, g.term = n.self.ID, g.term+1
	}
	w.mu.Unlock()
	c := &meta.CreateCluster{ClusterID: "c1", Founder: n.self, Creation: meta.Creation{
		LockSlots: 1, HeartbeatMs: 1, ElectionMs: 1, Seeds: make([]meta.HashSeed, worldShards),
	}}
	if _, err := n.client.Do(w.ctx(), c); err != nil {
		w.t.Fatal(err)
	}
}

// join makes n ask the node at addr to let it in.
func (w *world) join(n *worldNode, addr string, replace bool) (Welcome, error) {
	return Join(w.ctx(), n, []string{addr}, JoinRequest{Node: n.self, Replace: replace}, quietLog())
}

// cluster starts nodes n1 to n<size> and waits until all of them vote.
func (w *world) cluster(size int) []*worldNode {
	nodes := []*worldNode{w.start(nodeNamed("n1", 1))}
	w.found(nodes[0])
	for i := 2; i <= size; i++ {
		n := w.start(nodeNamed(fmt.Sprintf("n%d", i), uint64(i)))
		if _, err := w.join(n, nodes[0].self.PeerAddr, false); err != nil {
			w.t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	w.settled(nodes...)
	return nodes
}

// settled waits until exactly these nodes are members and vote in all groups.
func (w *world) settled(nodes ...*worldNode) {
	w.t.Helper()
	var want []meta.NodeID
	for _, n := range nodes {
		want = append(want, n.self.ID)
	}
	slices.Sort(want)
	w.until("nodes settled", func() bool {
		v := nodes[0].machine.View()
		if len(v.Nodes) != len(want) || slices.ContainsFunc(v.Nodes, func(n meta.Node) bool { return n.State != meta.Member }) {
			return false
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, g := range w.groups {
			var voters []meta.NodeID
			for _, s := range g.servers {
				if s.Voter {
					voters = append(voters, s.ID)
				}
			}
			slices.Sort(voters)
			if !slices.Equal(voters, want) || len(g.servers) != len(want) {
				return false
			}
		}
		return true
	})
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	w.t.Cleanup(cancel)
	return ctx
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for id, g := range w.groups {
				w.t.Logf("%s: leader %s, %+v", GroupName(id), g.leader, g.servers)
			}
			w.t.Fatalf("not in time: %s", what)
		}
		<-tick.C
	}
}

// electLocked gives every group whose leader is down or gone a new one, if the group has a quorum.
// w.mu must be held.
func (w *world) electLocked() {
	for _, g := range w.groups {
		voters, heirs := 0, []meta.NodeID{}
		for _, s := range g.servers {
			if s.Voter {
				voters++
				if w.upLocked(s.ID) {
					heirs = append(heirs, s.ID)
				}
			}
		}
		switch {
		case len(heirs) < quorum(voters):
			g.leader = ""
		case !slices.Contains(heirs, g.leader):
			g.leader, g.term = heirs[0], g.term+1
		}
	}
}

func (w *world) upLocked(id meta.NodeID) bool {
	for _, n := range w.nodes {
		if n.self.ID == id {
			return n.up
		}
	}
	return false
}

func (w *world) leaderOf(group uint32, self meta.NodeID) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.groups[group]
	for _, s := range g.servers {
		if s.ID == g.leader {
			return s.Addr, s.ID == self
		}
	}
	return "", false
}

func (w *world) hears(id meta.NodeID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.groups[meta.GroupID]
	return g.leader != "" && slices.ContainsFunc(g.servers, func(s Server) bool { return s.ID == id })
}

// Call implements Caller and leaderrpc.Caller.
func (n *worldNode) Call(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error) {
	n.w.mu.Lock()
	to, ok := n.w.nodes[addr]
	ok = ok && to.up
	n.w.mu.Unlock()
	if !ok {
		return nil, errors.New("connection refused")
	}
	got := make(chan []byte, 1)
	if kind == KindKnock {
		to.admission.Serve(Visitor{Member: n.self.ID}, payload, func(b []byte) { got <- b })
	} else {
		to.leaderRPC.Serve(payload, func(b []byte) { got <- b })
	}
	select {
	case b := <-got:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// worldLog is the meta group's log as one node sees it.
type worldLog struct{ n *worldNode }

func (l worldLog) IsLeader() bool { return worldReplica{l.n, meta.GroupID}.Leads() }

func (l worldLog) Append(_ context.Context, data []byte) error {
	w := l.n.w
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.groups[meta.GroupID]
	if g.leader != l.n.self.ID {
		return leaderrpc.ErrNotLeader
	}
	w.index++
	for _, n := range w.nodes {
		if n.up && slices.ContainsFunc(g.servers, func(s Server) bool { return s.ID == n.self.ID }) {
			if err := n.machine.Apply(w.index, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// worldReplica is one node's replica of a group.
type worldReplica struct {
	n *worldNode
	g uint32
}

func (r worldReplica) Leads() bool {
	r.n.w.mu.Lock()
	defer r.n.w.mu.Unlock()
	return r.n.up && r.n.w.groups[r.g].leader == r.n.self.ID
}

func (r worldReplica) Servers() ([]Server, uint64) {
	r.n.w.mu.Lock()
	defer r.n.w.mu.Unlock()
	g := r.n.w.groups[r.g]
	return slices.Clone(g.servers), g.index
}

func (r worldReplica) Progress(id meta.NodeID) Progress {
	r.n.w.mu.Lock()
	defer r.n.w.mu.Unlock()
	if r.n.w.upLocked(id) {
		return Progress{Match: 1000, Acked: time.Now()}
	}
	return Progress{}
}

func (r worldReplica) LastIndex() uint64 { return 1000 }

// Term implements Group.
func (r worldReplica) Term() uint64 {
	r.n.w.mu.Lock()
	defer r.n.w.mu.Unlock()
	return r.n.w.groups[r.g].term
}

func (r worldReplica) Confirm(context.Context) error {
	if !r.Leads() {
		return leaderrpc.ErrNotLeader
	}
	return nil
}

func (r worldReplica) Change(_ context.Context, a Action, index uint64) error {
	w := r.n.w
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.groups[r.g]
	if g.leader != r.n.self.ID || g.index != index {
		return errors.New("the configuration has changed")
	}
	g.index++
	g.changes = append(g.changes, a)
	at := slices.IndexFunc(g.servers, func(s Server) bool { return s.ID == a.ID })
	switch a.Verb {
	case Add:
		g.servers = append(g.servers, Server{ID: a.ID, Addr: a.Addr})
		w.catchUpLocked(r.g, a.ID, r.n)
	case Promote:
		g.servers[at].Voter = true
	case Readdress:
		g.servers[at].Addr = a.Addr
	case Remove:
		g.servers = slices.Delete(g.servers, at, at+1)
	case HandOver:
		g.leader, g.term = a.ID, g.term+1
	}
	w.checkLocked(r.g, a)
	return nil
}

// catchUpLocked sends a new member of the meta group the leader's state.
func (w *world) catchUpLocked(group uint32, id meta.NodeID, from *worldNode) {
	if group != meta.GroupID {
		return
	}
	for _, n := range w.nodes {
		if n.self.ID == id && n.up {
			w.copyState(from.machine, n.machine)
		}
	}
}

// checkLocked checks the invariants after every change.
func (w *world) checkLocked(group uint32, a Action) {
	g := w.groups[group]
	voters, alive := 0, 0
	addrs := map[string]bool{}
	for _, s := range g.servers {
		if addrs[s.Addr] {
			w.t.Errorf("%s: two servers at %s after %v", GroupName(group), s.Addr, a)
		}
		addrs[s.Addr] = true
		if s.Voter {
			voters++
			if w.upLocked(s.ID) {
				alive++
			}
		}
	}
	if alive < quorum(voters) {
		w.t.Errorf("%s: %d of %d voters alive after %v", GroupName(group), alive, voters, a)
	}
}
