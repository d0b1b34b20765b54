package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
)

var usual = Limits{CopiesMax: 2}

// settle runs the world until nothing is left to do, and returns the number of rounds.
func (w *world) settle() int {
	w.t.Helper()
	for round := range 20 * (len(w.groups) + 5) * 10 {
		r := w.plan(usual)
		for i := range w.groups {
			w.work(i)
		}
		w.finishLeaving()
		if len(r.Steps) == 0 && len(r.Moving) == 0 && !w.leavingAny() {
			return round
		}
	}
	w.t.Fatalf("does not settle; last %+v\n%s", Plan(w.view(), w.facts(), usual), w.describe())
	return 0
}

func (w *world) leavingAny() bool {
	return slices.ContainsFunc(w.view().Nodes, func(n meta.Node) bool { return n.State == meta.Leaving })
}

// finishLeaving detaches leaving nodes from the meta group, which they leave last.
func (w *world) finishLeaving() {
	for _, n := range w.view().Nodes {
		if n.State == meta.Leaving && w.view().HasLeftShards(n) {
			w.must(&meta.Detach{ID: n.ID, Group: meta.GroupID})
		}
	}
}

func (w *world) describe() string {
	var b strings.Builder
	for i, s := range w.view().Shards {
		fmt.Fprintf(&b, "shard %d: wanted %v going %v leader %s servers %+v\n", i, s.Replicas, s.Going, w.groups[i].leader, w.groups[i].servers)
	}
	for _, n := range w.view().Nodes {
		fmt.Fprintf(&b, "%s %s drained %v up %v lost %v\n", n.ID, n.State, n.Drained, w.up[n.ID], w.lost[n.ID])
	}
	return b.String()
}

// good returns the nodes that should have replicas.
func (w *world) good() []meta.NodeID {
	var list []meta.NodeID
	for _, n := range w.view().Nodes {
		if n.State == meta.Member && !n.Drained && w.up[n.ID] {
			list = append(list, n.ID)
		}
	}
	return list
}

// checkSettled checks the invariants of a settled world whose nodes are up, except for lost ones.
func (w *world) checkSettled() {
	w.t.Helper()
	good, v := w.good(), w.view()
	replicas, leaders := map[meta.NodeID]int{}, map[meta.NodeID]int{}
	for i, s := range v.Shards {
		g := w.groups[i]
		if len(s.Replicas) != min(v.Replicas, len(good)) && len(good) >= v.Replicas {
			w.t.Errorf("shard %d has %d replicas of %d\n%s", i, len(s.Replicas), v.Replicas, w.describe())
		}
		for _, id := range s.Replicas {
			replicas[id]++
		}
		var voters []meta.NodeID
		for _, m := range g.servers {
			if m.Voter {
				voters = append(voters, m.ID)
			}
		}
		slices.Sort(voters)
		if !slices.Equal(voters, s.Replicas) || len(voters) != len(g.servers) {
			w.t.Errorf("shard %d: %v vote, %v should", i, voters, s.Replicas)
		}
		leaders[g.leader]++
	}
	if len(good) < v.Replicas {
		return
	}
	most, least := spread(replicas, good)
	if most-least > 1 {
		w.t.Errorf("replicas are spread from %d to %d\n%s", least, most, w.describe())
	}
	// If only one node has room, no order is perfect. But as long as every node has several shards,
	// the numbers of leaders differ by at most one as well.
	if most, least := spread(leaders, good); most-least > 1 && len(v.Shards) >= 2*len(good) {
		w.t.Errorf("leaders are spread from %d to %d\n%s", least, most, w.describe())
	}
}

func spread(count map[meta.NodeID]int, nodes []meta.NodeID) (most, least int) {
	least = 1 << 30
	for _, id := range nodes {
		most, least = max(most, count[id]), min(least, count[id])
	}
	return most, least
}

func TestAWorldOfThreeGrowsToFive(t *testing.T) {
	w := newWorld(t, 1, 6, 3, 3)
	w.settle()
	w.checkSettled()
	w.join()
	w.join()
	before := len(w.begun)
	rounds := w.settle()
	w.checkSettled()
	t.Logf("two more nodes: %d steps in %d rounds", len(w.begun)-before, rounds)
	if most := 2*(18-3*18/5) + 12; len(w.begun)-before > most {
		t.Errorf("%d steps, more than %d", len(w.begun)-before, most)
	}
	before = len(w.begun)
	for range 50 {
		w.plan(usual)
	}
	if len(w.begun) != before {
		t.Error("a settled world goes on moving")
	}
}

// Whatever happens to the nodes, no step costs a quorum, and afterwards the world settles evenly.
func TestRandomWorldsSettleEvenlyAndLoseNoQuorum(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed, 1, 1, 1)
			shards, replicas := 1+w.rng.IntN(12), 1+w.rng.IntN(4)
			w = newWorld(t, seed, shards, replicas, 1+w.rng.IntN(7))
			for range 120 {
				w.fault()
				w.plan(usual)
				for i := range w.groups {
					if w.rng.IntN(2) == 0 {
						w.work(i)
					}
				}
				w.finishLeaving()
			}
			w.calm()
			w.settle()
			w.checkSettled()
			if w.settle(); len(Plan(w.view(), w.facts(), usual).Steps) > 0 {
				t.Error("a settled world goes on")
			}
		})
	}
}

// fault does something to a random node, now and then. At most one node is down at a time.
func (w *world) fault() {
	nodes := w.view().Nodes
	n := nodes[w.rng.IntN(len(nodes))]
	switch w.rng.IntN(24) {
	case 0, 1:
		for _, other := range nodes {
			w.up[other.ID], w.lost[other.ID] = true, false
		}
		w.up[n.ID] = false
		w.lost[n.ID] = w.rng.IntN(2) == 0
	case 2, 3:
		w.up[n.ID], w.lost[n.ID] = true, false
	case 4:
		if n.State == meta.Member {
			w.must(&meta.MarkDrained{ID: n.ID, Drained: !n.Drained})
		}
	case 5:
		if len(nodes) < 9 {
			w.join()
		}
	case 6:
		if len(w.good()) > 3 && n.State == meta.Member {
			w.must(&meta.RemoveNode{ID: n.ID})
		}
	case 7:
		w.must(&meta.SetReplicas{Count: 1 + w.rng.IntN(4)})
	}
}

// calm ends all faults.
func (w *world) calm() {
	for _, n := range w.view().Nodes {
		w.up[n.ID], w.lost[n.ID] = true, false
		if n.Drained && n.State.Live() {
			w.must(&meta.MarkDrained{ID: n.ID})
		}
	}
}

func TestALostNodesReplicasAreRepairedElsewhereOrStay(t *testing.T) {
	w := newWorld(t, 7, 4, 3, 4)
	w.settle()
	gone := w.view().Shards[0].Replicas[0]
	w.up[gone] = false
	if r := Plan(w.view(), w.facts(), usual); len(r.Steps) > 0 {
		t.Errorf("a node that has just died: %+v", r.Steps)
	}
	w.lost[gone] = true
	w.settle()
	for i, s := range w.view().Shards {
		if s.Has(gone) || len(s.Replicas) != 3 {
			t.Errorf("shard %d: %+v", i, s)
		}
	}
	// No node is left to take the replicas of a second lost one.
	second := w.good()[0]
	w.up[second], w.lost[second] = false, true
	w.settle()
	for i, s := range w.view().Shards {
		if len(s.Replicas) != 3 {
			t.Errorf("shard %d was made smaller: %+v", i, s)
		}
	}
}

// Of three replicas two are wanted, and one of the three nodes does not answer. Its replica may go,
// but none of the two that make the quorum.
func TestNoReplicaGoesThatMakesTheQuorum(t *testing.T) {
	for _, down := range []int{0, 1, 2} {
		w := newWorld(t, 1, 1, 3, 3)
		w.settle()
		w.must(&meta.SetReplicas{Count: 2})
		absent := w.view().Nodes[down].ID
		w.up[absent] = false
		if w.groups[0].leader == absent {
			w.elect(w.groups[0])
		}
		r := Plan(w.view(), w.facts(), usual)
		for _, s := range r.Steps {
			if s.Kind == DropReplica && s.Node != absent {
				t.Errorf("while %s does not answer, %s is to lose its replica", absent, s.Node)
			}
		}
		if len(r.Steps) == 0 && !strings.Contains(r.Waits[0], "shard 0 has a replica too many") {
			t.Errorf("while %s does not answer: %+v", absent, r)
		}
		w.lost[absent] = true
		if r := Plan(w.view(), w.facts(), usual); len(r.Steps) != 1 || r.Steps[0].Kind != DropReplica || r.Steps[0].Node != absent {
			t.Errorf("when %s has not answered for long: %+v", absent, r)
		}
		w.lost[absent] = false
		w.up[absent] = true
		w.settle()
		w.checkSettled()
	}
}

func TestADrainedNodeGivesUpWhatOthersCanTake(t *testing.T) {
	for _, nodes := range []int{3, 4} {
		w := newWorld(t, uint64(nodes), 6, 3, nodes)
		w.settle()
		id := w.good()[0]
		w.must(&meta.MarkDrained{ID: id, Drained: true})
		w.settle()
		for i, s := range w.view().Shards {
			if s.Has(id) != (nodes == 3) || len(s.Replicas) != 3 {
				t.Errorf("%d nodes, shard %d: %v", nodes, i, s.Replicas)
			}
			if w.groups[i].leader == id {
				t.Errorf("%d nodes: the drained one leads shard %d", nodes, i)
			}
		}
	}
}

// A node with a wrong clock hands over its leaderships to others, gets no new ones, and keeps its
// replicas. If all others are down it continues to lead.
func TestANodeWithAWrongClockLeadsWhereNobodyElseCan(t *testing.T) {
	for _, nodes := range []int{3, 4} {
		w := newWorld(t, uint64(nodes), 6, 3, nodes)
		w.settle()
		id := w.good()[0]
		before := 0
		for i := range w.groups {
			if w.groups[i].leader == id {
				before++
			}
		}
		replicas := func() (n int) {
			for _, s := range w.view().Shards {
				if s.Has(id) {
					n++
				}
			}
			return n
		}
		had := replicas()
		w.wrong[id] = true
		w.settle()
		for i := range w.groups {
			if w.groups[i].leader == id {
				t.Errorf("%d nodes: it leads shard %d", nodes, i)
			}
		}
		if before == 0 || replicas() != had {
			t.Errorf("%d nodes: it led %d shards, and has %d replicas of %d", nodes, before, replicas(), had)
		}
		delete(w.wrong, id)
		w.settle()
		w.checkSettled()
	}
	w := newWorld(t, 1, 2, 3, 3)
	w.settle()
	good := w.good()
	w.wrong[good[0]] = true
	for _, id := range good[1:] {
		w.wrong[id] = true
	}
	for i := range w.groups {
		if r := Plan(w.view(), w.facts(), Limits{CopiesMax: 1}); len(r.Steps) != 0 {
			t.Errorf("all clocks are wrong, and shard %d is to move: %+v", i, r.Steps)
		}
	}
}

func TestALeavingNodeWithoutASuccessorLeavesAllTheSame(t *testing.T) {
	w := newWorld(t, 3, 3, 3, 3)
	w.settle()
	w.must(&meta.RemoveNode{ID: w.good()[2]})
	w.settle()
	if n := len(w.view().Nodes); n != 2 {
		t.Fatalf("%d nodes\n%s", n, w.describe())
	}
	w.join()
	w.settle()
	w.checkSettled()
}

// A shard was recovered with one replica of three. The other two are wanted until the lost nodes
// are removed. When the first of them is removed, its replacement does not wait until the second
// has been away for long.
func TestADeadReplicaThatIsAwaitedHoldsUpNoOther(t *testing.T) {
	w := newWorld(t, 5, 1, 3, 5)
	w.settle()
	g := w.groups[0]
	rest := g.servers[0]
	var lost []meta.NodeID
	for _, m := range g.servers[1:] {
		w.up[m.ID] = false
		lost = append(lost, m.ID)
	}
	g.servers, g.leader = []membership.Server{rest}, rest.ID
	if r := w.plan(usual); len(r.Steps) > 0 || len(r.Moving) != 1 {
		t.Errorf("before anybody is removed: %+v", r)
	}
	w.must(&meta.RemoveNode{ID: lost[0]})
	if r := w.plan(usual); len(r.Steps) != 1 || r.Steps[0].Kind != DropReplica || r.Steps[0].Node != lost[0] {
		t.Errorf("the first is removed: %+v", r)
	}
	if r := w.plan(usual); len(r.Steps) > 0 {
		t.Errorf("the second is awaited: %+v", r)
	}
	w.must(&meta.RemoveNode{ID: lost[1]})
	w.settle()
	w.checkSettled()
}

// A node dies while a shard has one replica too many. If it does not come back soon, its replica is
// the one that goes: if another went, the group could lose none of the three voters left.
func TestTheReplicaThatDoesNotAnswerIsTheOneTooMany(t *testing.T) {
	w := newWorld(t, 5, 1, 4, 4)
	w.settle()
	w.must(&meta.SetReplicas{Count: 3})
	for _, dead := range w.view().Shards[0].Replicas {
		facts := w.facts()
		facts.Nodes[dead] = NodeFacts{}
		if r := Plan(w.view(), facts, usual); len(r.Steps) > 0 || r.Balanced || !strings.Contains(r.Waits[0], string(dead)) {
			t.Errorf("%s has just died: %+v", dead, r)
		}
		facts.Nodes[dead] = NodeFacts{Missing: true}
		if r := Plan(w.view(), facts, usual); len(r.Steps) != 1 || r.Steps[0].Kind != DropReplica || r.Steps[0].Node != dead {
			t.Errorf("%s does not come back: %+v", dead, r)
		}
	}
	w.settle()
	w.checkSettled()
}

// A node dies after another node's replica was told to go, and the group cannot lose that replica
// any more. It can once a new replica votes, so nothing holds up the new one.
func TestAReplicaThatCannotGoHoldsUpNoRepair(t *testing.T) {
	w := newWorld(t, 3, 1, 3, 3)
	w.settle()
	nodes := w.good()
	w.must(&meta.RemoveNode{ID: nodes[2]})
	if r := w.plan(usual); len(r.Steps) != 1 || r.Steps[0].Kind != DropReplica {
		t.Fatalf("%+v", r)
	}
	w.up[nodes[1]], w.lost[nodes[1]] = false, true
	w.work(0)
	if r := w.plan(usual); r.Balanced || !strings.Contains(r.Waits[0], "would be alive") {
		t.Errorf("without a newcomer: %+v", r)
	}
	newcomer := w.join()
	w.settle()
	if g := w.groups[0]; len(g.servers) != 3 || !slices.ContainsFunc(g.servers, func(m membership.Server) bool { return m.ID == newcomer && m.Voter }) {
		t.Errorf("%s", w.describe())
	}
}

// A cluster with a replica everywhere has some that never vote: those of learners. Nothing waits
// for these when an operator sets the number of replicas.
func TestALearnersReplicaIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, 4, 2, 0, 3)
	learner := w.node()
	learner.Learner = true
	w.must(&meta.AddNode{Node: learner})
	w.must(&meta.MarkMember{ID: learner.ID})
	w.up[learner.ID] = true
	for range 100 {
		w.work(0)
		w.work(1)
	}
	for i, g := range w.groups {
		if voters, _ := w.alive(g); voters != 3 || len(g.servers) != 4 {
			t.Fatalf("shard %d: %+v", i, g.servers)
		}
	}
	w.must(&meta.SetReplicas{Count: 2})
	w.settle()
	for i, s := range w.view().Shards {
		if s.Has(learner.ID) || len(s.Replicas) != 2 || len(w.groups[i].servers) != 2 {
			t.Errorf("shard %d is not settled\n%s", i, w.describe())
		}
	}
}

// A change that waits only until a node has been alive for a while is in the forecast: until then
// the cluster is not balanced.
func TestACrowdedLeaderIsNotBalanced(t *testing.T) {
	w := newWorld(t, 1, 4, 3, 3)
	w.settle()
	facts := w.facts()
	first := w.view().Nodes[0].ID
	for i := range facts.Shards {
		facts.Shards[i].Leader, facts.Shards[i].Steady = first, false
	}
	for id, n := range facts.Nodes {
		n.Steady = false
		facts.Nodes[id] = n
	}
	r := reportOf(w.view(), facts, usual)
	if r.Balanced || len(r.Plan) == 0 || r.Plan[0].Step != string(MoveLeader) {
		t.Errorf("balanced %v with plan %+v", r.Balanced, r.Plan)
	}
}
