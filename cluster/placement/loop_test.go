package placement

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
)

// stage is a world with a loop that works on it.
type stage struct {
	*world
	loop *Loop
	// acked is when each node last acknowledged; the tests set it.
	acked map[meta.NodeID]time.Time
	says  map[meta.NodeID][]Led
	leads bool
	moved []meta.NodeID
	limit Settings
}

func staged(t *testing.T, shards, nodes int) *stage {
	s := &stage{world: newWorld(t, 1, shards, 3, nodes), acked: map[meta.NodeID]time.Time{}, says: map[meta.NodeID][]Led{}, leads: true}
	s.limit = Settings{Limits: usual, RepairAfter: time.Minute}
	c := leaderrpc.New(leaderrpc.Config{Leader: func(uint32) (string, bool) { return "here", true }, Peers: func() []string { return nil }})
	t.Cleanup(c.Close)
	s.loop = New(Config{
		Self: s.view().Nodes[0].ID, Meta: s.client, LeaderRPC: c, Leads: func() bool { return s.leads },
		Acked: func(id meta.NodeID) time.Time { return s.acked[id] },
		Ask: func(_ context.Context, n meta.Node) ([]Led, error) {
			if said, ok := s.says[n.ID]; ok {
				return said, nil
			}
			return nil, errors.New("no answer")
		},
		Transfer: func(_ context.Context, _ uint32, to meta.NodeID) error {
			s.moved = append(s.moved, to)
			return nil
		},
		Settings: func() Settings { return s.limit },
		Log:      slog.New(slog.DiscardHandler),
	})
	return s
}

func TestANodeIsMissingThenLostAndSteadyOnlyAfterAWhile(t *testing.T) {
	s := staged(t, 1, 2)
	other := s.view().Nodes[1].ID
	begin := time.Now()
	at := func(after time.Duration, answers bool) NodeFacts {
		now := begin.Add(after)
		if answers {
			s.acked[other] = now
		}
		return s.loop.nodes(s.view(), now)[other]
	}
	for _, c := range []struct {
		after   time.Duration
		answers bool
		want    NodeFacts
	}{
		{0, true, NodeFacts{Alive: true}},
		{4 * time.Second, true, NodeFacts{Alive: true}},
		{6 * time.Second, true, NodeFacts{Alive: true, Steady: true}},
		{8 * time.Second, false, NodeFacts{Alive: true, Steady: true}},
		{10 * time.Second, false, NodeFacts{}},
		{37 * time.Second, false, NodeFacts{}},
		{40 * time.Second, false, NodeFacts{Missing: true}},
		{69 * time.Second, false, NodeFacts{Missing: true, Lost: true}},
		{70 * time.Second, true, NodeFacts{Alive: true}},
		{76 * time.Second, true, NodeFacts{Alive: true, Steady: true}},
	} {
		if got := at(c.after, c.answers); got != c.want {
			t.Errorf("after %v: %+v, want %+v", c.after, got, c.want)
		}
	}
	s.limit.RepairAfter = 0
	if got := at(time.Hour, false); got.Lost || !got.Missing {
		t.Errorf("without repair: %+v", got)
	}
	// A node that becomes the meta group's leader counts from then.
	s.loop.forget()
	s.limit.RepairAfter = time.Minute
	if got := at(2*time.Hour, false); got != (NodeFacts{}) {
		t.Errorf("a new leader takes a silence for long that it has not heard: %+v", got)
	}
}

func TestOfTwoWhoSayTheyLeadTheNewerTermIsBelieved(t *testing.T) {
	s := staged(t, 2, 3)
	n := s.view().Nodes
	for _, node := range n {
		s.acked[node.ID] = time.Now().Add(time.Hour) // however long the test takes
	}
	s.says[n[1].ID] = []Led{{Shard: 0, Term: 7, ForMs: 10}, {Shard: 1, Term: 2, ForMs: 1 << 20}, {Shard: 99, Term: 1}}
	s.says[n[2].ID] = []Led{{Shard: 0, Term: 6, ForMs: 1 << 20}}
	f := s.loop.collect(t.Context(), s.view())
	if f.Shards[0].Leader != n[1].ID || f.Shards[0].Steady || f.Shards[1].Leader != n[1].ID || !f.Shards[1].Steady {
		t.Errorf("%+v", f.Shards)
	}
}

// The loop does nothing where the meta group is not led, and carries out the plan where it is.
func TestTheLoopActsOnTheMetaGroupsLeaderAlone(t *testing.T) {
	s := staged(t, 1, 3)
	n := s.view().Nodes
	for _, node := range n {
		s.acked[node.ID] = time.Now().Add(time.Hour) // however long the test takes
	}
	s.says[n[0].ID] = []Led{{Shard: 0, Term: 1, ForMs: 1 << 20, Members: []Member{{Node: n[0].ID, Voter: true}}}}
	s.leads = false
	if pause := s.loop.step(t.Context()); pause != idlePause || len(s.view().Shards[0].Replicas) != 1 {
		t.Fatalf("%v %+v", pause, s.view().Shards)
	}
	s.leads = true
	if pause := s.loop.step(t.Context()); pause != busyPause || len(s.view().Shards[0].Replicas) != 2 {
		t.Fatalf("%v %+v", pause, s.view().Shards)
	}
	// That replica is being copied, so no other change begins.
	if pause := s.loop.step(t.Context()); pause != busyPause || len(s.view().Shards[0].Replicas) != 2 {
		t.Fatalf("%v %+v", pause, s.view().Shards)
	}
}

func TestLeadersMoveOneByOneWithAPause(t *testing.T) {
	s := staged(t, 1, 2)
	step := Step{Kind: MoveLeader, Node: s.view().Nodes[1].ID}
	if !s.loop.carryOut(t.Context(), step) || len(s.moved) != 1 || s.loop.movedLeader.IsZero() {
		t.Fatalf("moved to %v at %v", s.moved, s.loop.movedLeader)
	}
	s.loop.movedLeader = time.Now().Add(time.Hour) // however long the test takes
	if s.loop.carryOut(t.Context(), step) || len(s.moved) != 1 {
		t.Fatalf("moved to %v at once", s.moved)
	}
	s.loop.movedLeader = time.Now().Add(-leaderPause)
	if !s.loop.carryOut(t.Context(), step) || len(s.moved) != 2 {
		t.Fatalf("moved to %v", s.moved)
	}
	// A step that was planned for an older state is dropped.
	if !s.loop.carryOut(t.Context(), Step{Kind: AddReplica, Was: []meta.NodeID{"x"}, Node: step.Node}) || len(s.view().Shards[0].Replicas) != 1 {
		t.Fatalf("%+v", s.view().Shards)
	}
}

// The forecast of a dry run comes true: after its steps nothing is left to do.
func TestTheForecastEndsWithABalancedCluster(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, 1+int(seed)%9, 3, 3)
		w.settle()
		for range 1 + seed%4 {
			w.join()
		}
		view, facts := w.view(), w.facts()
		steps := Forecast(view, facts)
		r := reportOf(view, facts, Limits{CopiesMax: 2, Still: true})
		if len(r.Plan) != len(steps) {
			t.Errorf("seed %d: %d steps in the report, %d in the forecast", seed, len(r.Plan), len(steps))
		}
		if r.Balanced != (len(steps) == 0) || !r.Still {
			t.Errorf("seed %d: balanced %v, still %v, with %d steps to do", seed, r.Balanced, r.Still, len(steps))
		}
		for _, s := range steps {
			at, had := slices.BinarySearch(view.Shards[s.Shard].Replicas, s.Node)
			if s.Kind == AddReplica && had && slices.Contains(s.Was, s.Node) {
				t.Errorf("seed %d: %+v is there already, at %d", seed, s, at)
			}
		}
		// The real run needs as many additions.
		adds := func(list []Step) (n int) {
			for _, s := range list {
				if s.Kind == AddReplica {
					n++
				}
			}
			return n
		}
		before := len(w.begun)
		w.settle()
		w.checkSettled()
		if got, want := adds(w.begun[before:]), adds(steps); got < want-2 || got > want+2 {
			t.Errorf("seed %d: %d replicas were added, %d foretold", seed, got, want)
		}
	}
}
