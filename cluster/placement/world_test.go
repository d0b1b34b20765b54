package placement

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
)

// world is a cluster without disks and wires: the meta group's machine, a list of servers per
// shard, and the nodes that are up. Its shards change their members as membership.Plan says, its
// view changes as Plan says.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	machine *meta.Machine
	client  *meta.Client
	index   uint64
	groups  []*group
	up      map[meta.NodeID]bool
	lost    map[meta.NodeID]bool
	// wrong holds the nodes whose clocks are wrong.
	wrong map[meta.NodeID]bool
	// data holds the replicas that nodes have on their disks.
	data map[string]bool
	// begun are all steps that were carried out.
	begun []Step
	named int
}

type group struct {
	leader  meta.NodeID
	servers []membership.Server
	ready   map[meta.NodeID]bool
}

// IsLeader and Append make the world the meta group's log.
func (w *world) IsLeader() bool { return true }
func (w *world) Append(_ context.Context, data []byte) error {
	w.index++
	return w.machine.Apply(w.index, data)
}

func newWorld(t *testing.T, seed uint64, shards, replicas, nodes int) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), machine: meta.NewMachine(), up: map[meta.NodeID]bool{}, lost: map[meta.NodeID]bool{}, wrong: map[meta.NodeID]bool{}, data: map[string]bool{}}
	c := leaderrpc.New(leaderrpc.Config{Leader: func(uint32) (string, bool) { return "here", true }, Peers: func() []string { return nil }})
	t.Cleanup(c.Close)
	w.client = meta.NewClient(w.machine, w, c, nil)
	first := w.node()
	w.must(&meta.CreateCluster{ClusterID: "c1", Founder: first, ClusterVersion: meta.KnownVersion(), Creation: meta.Creation{
		LockSlots: 1, HeartbeatMs: 1, ElectionMs: 1, Replicas: replicas, Seeds: make([]meta.HashSeed, shards),
	}})
	w.up[first.ID] = true
	for range shards {
		w.groups = append(w.groups, &group{leader: first.ID, servers: []membership.Server{{ID: first.ID, Addr: first.PeerAddr, Voter: true}}, ready: map[meta.NodeID]bool{}})
	}
	for range nodes - 1 {
		w.join()
	}
	return w
}

func (w *world) node() meta.Node {
	w.named++
	name := fmt.Sprintf("n%02d", w.named)
	return meta.Node{ID: meta.MakeNodeID(name, 1), Name: name, Incarnation: 1, PeerAddr: name + ":7000", ClientAddr: name + ":6379"}
}

func (w *world) join() meta.NodeID {
	n := w.node()
	w.must(&meta.AddNode{Node: n})
	w.must(&meta.MarkMember{ID: n.ID})
	w.up[n.ID] = true
	return n.ID
}

func (w *world) must(c meta.Command) {
	w.t.Helper()
	if _, err := w.client.Do(w.t.Context(), c); err != nil {
		w.t.Fatalf("%+v: %v", c, err)
	}
}

func (w *world) view() *meta.View { return w.machine.View() }

func (w *world) facts() *Facts {
	f := &Facts{Nodes: map[meta.NodeID]NodeFacts{}}
	for _, n := range w.view().Nodes {
		facts := NodeFacts{Alive: w.up[n.ID], Steady: w.up[n.ID], Missing: w.lost[n.ID], Lost: w.lost[n.ID]}
		if w.wrong[n.ID] {
			facts.ClockOff = time.Hour
		}
		f.Nodes[n.ID] = facts
	}
	for i := range w.groups {
		f.Shards = append(f.Shards, w.shardFacts(i))
	}
	return f
}

func (w *world) shardFacts(i int) ShardFacts {
	g := w.groups[i]
	w.elect(g)
	if g.leader == "" {
		return ShardFacts{}
	}
	s := ShardFacts{Leader: g.leader, Steady: true}
	for _, m := range g.servers {
		s.Members = append(s.Members, Member{Node: m.ID, Voter: m.Voter})
	}
	return s
}

// alive counts a group's voters and those of them that are up.
func (w *world) alive(g *group) (voters, alive int) {
	for _, m := range g.servers {
		if m.Voter {
			voters++
			if w.up[m.ID] {
				alive++
			}
		}
	}
	return voters, alive
}

func (w *world) quorate(g *group) bool {
	voters, alive := w.alive(g)
	return alive > voters/2
}

func (w *world) elect(g *group) {
	voter := func(m membership.Server) bool { return m.Voter && w.up[m.ID] }
	if !w.quorate(g) {
		g.leader = ""
	} else if !slices.ContainsFunc(g.servers, func(m membership.Server) bool { return m.ID == g.leader && voter(m) }) {
		heirs := slices.DeleteFunc(slices.Clone(g.servers), func(m membership.Server) bool { return !voter(m) })
		g.leader = heirs[w.rng.IntN(len(heirs))].ID
	}
}

// work lets a shard's leader do one thing, and lets the nodes delete the data that they may.
func (w *world) work(i int) {
	g := w.groups[i]
	w.elect(g)
	if g.leader == "" {
		return
	}
	view := w.view()
	w.report(view, i, g)
	view = w.view()
	var peers []membership.Peer
	for _, m := range g.servers {
		if w.up[m.ID] && w.rng.IntN(3) == 0 {
			g.ready[m.ID] = true
		}
		peers = append(peers, membership.Peer{ID: m.ID, Addr: m.Addr, Voter: m.Voter, Self: m.ID == g.leader, Alive: w.up[m.ID], CaughtUp: w.up[m.ID] && g.ready[m.ID]})
	}
	a := membership.Plan(view, uint32(i), peers)
	at := slices.IndexFunc(g.servers, func(m membership.Server) bool { return m.ID == a.ID })
	switch a.Verb {
	case membership.Add:
		delete(g.ready, a.ID)
		g.servers = append(g.servers, membership.Server{ID: a.ID, Addr: a.Addr})
		w.data[fmt.Sprint(i, a.ID)] = true
	case membership.Promote:
		g.servers[at].Voter = true
	case membership.Remove:
		g.servers = slices.Delete(g.servers, at, at+1)
	case membership.HandOver:
		g.leader = a.ID
	}
	if !w.quorate(g) {
		w.t.Fatalf("shard %d lost its quorum by %v", i, a)
	}
}

// report proposes what the shards' leaders and the nodes report to the meta group.
func (w *world) report(view *meta.View, i int, g *group) {
	in := func(id meta.NodeID) bool {
		return slices.ContainsFunc(g.servers, func(m membership.Server) bool { return m.ID == id })
	}
	for _, going := range view.Shards[i].Going {
		switch {
		case !going.LetGo && !in(going.Node):
			w.must(&meta.LetGo{Shard: uint32(i), Node: going.Node, Since: going.Since})
		case going.LetGo && w.up[going.Node]:
			if in(going.Node) {
				w.t.Fatalf("shard %d: %s deletes data of a group that it is in", i, going.Node)
			}
			delete(w.data, fmt.Sprint(i, going.Node))
			w.must(&meta.Dropped{Shard: uint32(i), Node: going.Node, Since: going.Since})
		}
	}
	for _, n := range w.view().Nodes {
		if n.State == meta.Leaving && !in(n.ID) && !w.view().Shards[i].Has(n.ID) {
			w.must(&meta.Detach{ID: n.ID, Group: uint32(i)})
		}
	}
}

// plan runs the planner once and carries its steps out.
func (w *world) plan(limits Limits) Result {
	view, facts := w.view(), w.facts()
	r := Plan(view, facts, limits)
	seen := map[uint32]bool{}
	for _, s := range r.Steps {
		if seen[s.Shard] {
			w.t.Fatalf("two steps for shard %d: %+v", s.Shard, r.Steps)
		}
		seen[s.Shard] = true
		if slices.Contains(r.Moving, s.Shard) {
			w.t.Fatalf("a step for a shard that is changing: %+v", s)
		}
		w.carryOut(s)
	}
	w.checkCopies(view, facts, r.Steps, limits)
	return r
}

func (w *world) carryOut(s Step) {
	w.begun = append(w.begun, s)
	switch s.Kind {
	case AddReplica:
		n, _ := w.view().Node(s.Node)
		if n.Drained || !n.State.Live() || !w.up[n.ID] {
			w.t.Fatalf("a replica for %+v", n)
		}
		w.must(&meta.PlaceReplica{Shard: s.Shard, Was: s.Was, Add: s.Node})
	case DropReplica:
		w.must(&meta.PlaceReplica{Shard: s.Shard, Was: s.Was, Drop: s.Node})
	case MoveLeader:
		g := w.groups[s.Shard]
		at := slices.IndexFunc(g.servers, func(m membership.Server) bool { return m.ID == s.Node && m.Voter })
		if n, _ := w.view().Node(s.Node); at < 0 || n.Drained || !w.up[s.Node] || w.wrong[s.Node] {
			w.t.Fatalf("the leadership of shard %d for %+v", s.Shard, n)
		}
		g.leader = s.Node
	}
}

// checkCopies checks that no copy was begun beyond the limit. Copies of shards without a leader at
// that moment do not count, because the planner cannot see them, nor do copies to leaving nodes,
// which are given up.
func (w *world) checkCopies(view *meta.View, facts *Facts, steps []Step, limits Limits) {
	begun, open := 0, 0
	for _, s := range steps {
		if s.Kind == AddReplica {
			begun++
		}
	}
	for i, s := range view.Shards {
		f := facts.Shards[i]
		if f.Leader != "" && slices.ContainsFunc(s.Replicas, func(id meta.NodeID) bool {
			n, _ := view.Node(id)
			return !f.Votes(id) && !w.lost[id] && n.State.Live()
		}) {
			open++
		}
	}
	if begun > 0 && begun+open > limits.CopiesMax {
		w.t.Fatalf("%d copies were begun beside %d", begun, open)
	}
}
