package membership

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
)

// copyState sends a snapshot from one machine to another.
func (w *world) copyState(from, to *meta.Machine) {
	s, err := from.Snapshot()
	if err != nil {
		w.t.Error(err)
		return
	}
	defer s.Release()
	var b bytes.Buffer
	if err := errors.Join(s.Persist(&b), to.Restore(&b)); err != nil {
		w.t.Error(err)
	}
}

// verbsFor lists the changes that were made to a node in a group.
func (w *world) verbsFor(group uint32, id meta.NodeID) (verbs []Verb) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.groups[group].changes {
		if a.ID == id {
			verbs = append(verbs, a.Verb)
		}
	}
	return verbs
}

func refusedWith(t *testing.T, err, why error, words string) {
	t.Helper()
	if !errors.Is(err, why) || !strings.Contains(err.Error(), words) {
		t.Fatalf("error %v, want %q", err, words)
	}
}

func TestNodesJoinThroughAnyNodeAndVoteWhenCaughtUp(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(2)
	n3 := w.start(nodeNamed("n3", 3))
	welcome, err := w.join(n3, nodes[1].self.PeerAddr, false)
	if err != nil {
		t.Fatal(err)
	}
	if welcome.ClusterID != "c1" || len(welcome.Shards) != worldShards || len(welcome.Nodes) != 3 {
		t.Fatalf("%+v", welcome)
	}
	again, err := w.join(n3, nodes[0].self.PeerAddr, false)
	if err != nil || again.ClusterID != welcome.ClusterID {
		t.Fatalf("asked again: %+v, %v", again, err)
	}
	w.settled(nodes[0], nodes[1], n3)
	for g := range w.groups {
		if got := w.verbsFor(g, n3.self.ID); !slices.Equal(got, []Verb{Add, Promote}) {
			t.Errorf("%s: %v", GroupName(g), got)
		}
	}
}

func TestANodeThatLeavesIsToldAndStops(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(3)
	if err := nodes[0].Leave(w.ctx()); err != nil { // it leads everything
		t.Fatal(err)
	}
	if why := <-nodes[0].removed; why != "it was removed by an operator" {
		t.Fatal(why)
	}
	w.settled(nodes[1], nodes[2])
	if !Gone(nodes[1].machine.View(), nodes[0].self.ID) {
		t.Fatal("still known as a node")
	}
	_, err := w.join(nodes[0], nodes[1].self.PeerAddr, false)
	refusedWith(t, err, meta.ErrRemoved, "was removed from the cluster")
}

func TestAWipedNodeReplacesItsFormerSelf(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(3)
	fresh := nodeNamed("n3", 33)
	_, err := Join(w.ctx(), nodes[2], []string{"n1:7000"}, JoinRequest{Node: fresh, Replace: true}, quietLog())
	refusedWith(t, err, ErrStillAlive, "still answers; stop it")
	nodes[2].kill()
	wiped := w.start(fresh)
	_, err = w.join(wiped, "n2:7000", false)
	refusedWith(t, err, meta.ErrNameTaken, "if its data is gone, remove it first or join with --replace")
	if _, err := w.join(wiped, "n2:7000", true); err != nil {
		t.Fatal(err)
	}
	for g, group := range w.groups {
		w.mu.Lock()
		old := slices.ContainsFunc(group.servers, func(s Server) bool { return s.ID == nodes[2].self.ID })
		w.mu.Unlock()
		if old {
			t.Errorf("%s: welcomed while the old one was a member", GroupName(g))
		}
	}
	w.settled(nodes[0], nodes[1], wiped)
}

func TestANodeThatCalculatesInAnotherWayIsNotTakenIn(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(1)
	_, err := knockToJoin(w.ctx(), nodes[0], "n1:7000", JoinRequest{Node: nodeNamed("n2", 2), Knows: meta.KnownVersion(), Architecture: "pdp11"})
	refusedWith(t, err, ErrArchitecture, "and the new one on pdp11")
	if _, known := nodes[0].machine.View().Node(nodeNamed("n2", 2).ID); known {
		t.Error("it is a member")
	}
}

func TestARemovalThatBreaksTheQuorumIsRefusedInWords(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(3)
	nodes[2].kill()
	_, err := nodes[1].Remove(w.ctx(), "n2", false)
	refusedWith(t, err, ErrQuorum, "without n2, 1 of 2 voters would be alive, and 2 are needed")
	_, err = nodes[1].Remove(w.ctx(), "n9", false)
	refusedWith(t, err, meta.ErrUnknownNode, `no node "n9"`)
	// The dead node may be removed: of the three voters the two alive stay.
	id, err := nodes[1].Remove(w.ctx(), "n3", false)
	if err != nil || id != nodes[2].self.ID {
		t.Fatal(id, err)
	}
	w.settled(nodes[0], nodes[1])
	// One more may be removed; one is left.
	if _, err := nodes[0].Remove(w.ctx(), "n2", false); err != nil {
		t.Fatal(err)
	}
	<-nodes[1].removed
	w.settled(nodes[0])
	_, err = nodes[0].Remove(w.ctx(), "n1", false)
	refusedWith(t, err, ErrQuorum, "n1 is the only voter")
	_, err = nodes[0].Remove(w.ctx(), "n1", true)
	refusedWith(t, err, meta.ErrLastNode, "n1 is the last node")
}

func TestAReplacedNodeStaysUntilItsSuccessorVotes(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(3)
	n4 := w.start(nodeNamed("n4", 4))
	if _, err := w.join(n4, "n1:7000", false); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[1].Replace(w.ctx(), "n3", "n4"); err != nil {
		t.Fatal(err)
	}
	if why := <-nodes[2].removed; !strings.Contains(why, "replaced by node "+string(n4.self.ID)) {
		t.Fatal(why)
	}
	w.settled(nodes[0], nodes[1], n4)
	for g, group := range w.groups {
		promoted, removed := -1, -1
		for i, a := range group.changes {
			switch {
			case a.ID == n4.self.ID && a.Verb == Promote:
				promoted = i
			case a.ID == nodes[2].self.ID && a.Verb == Remove:
				removed = i
			}
		}
		if promoted < 0 || removed < promoted {
			t.Errorf("%s: %v", GroupName(g), group.changes)
		}
	}
}

func TestAnAddressChangeReachesEveryGroup(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(3)
	moved := nodes[1].self
	moved.PeerAddr = "elsewhere:7000"
	w.mu.Lock()
	w.nodes[moved.PeerAddr] = nodes[1]
	w.mu.Unlock()
	if err := Announce(w.ctx(), nodes[1].client, nodes[1], moved); err != nil {
		t.Fatal(err)
	}
	if err := Announce(w.ctx(), nodes[1].client, nodes[1], moved); err != nil {
		t.Fatal(err)
	}
	w.until("every group knows the new address", func() bool {
		for g := range w.groups {
			if !slices.Contains(w.verbsFor(g, moved.ID), Readdress) {
				return false
			}
		}
		return true
	})
	w.settled(nodes...)
}

// Three nodes change addresses in a circle. None may take an address before its owner has given it
// up.
func TestNodesThatHaveChangedPlacesAreReaddressed(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(4)
	var moved []meta.Node
	w.mu.Lock()
	for i, n := range nodes[1:] {
		self := n.self
		self.PeerAddr = nodes[1+(i+1)%3].self.PeerAddr
		moved = append(moved, self)
		w.nodes[self.PeerAddr] = n
	}
	w.mu.Unlock()
	announced := make(chan error, len(moved))
	for i, self := range moved {
		go func() { announced <- Announce(w.ctx(), nodes[1+i].client, nodes[1+i], self) }()
	}
	for range moved {
		if err := <-announced; err != nil {
			t.Fatal(err)
		}
	}
	w.until("every group knows the new addresses", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, g := range w.groups {
			for _, self := range moved {
				if !slices.Contains(g.servers, Server{ID: self.ID, Addr: self.PeerAddr, Voter: true}) {
					return false
				}
			}
		}
		return true
	})
	w.settled(nodes...)
}

func TestLeadershipMovesOnOrder(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(3)
	ctx := w.ctx()
	for _, g := range []uint32{0, 1, meta.GroupID} {
		got, err := nodes[1].Transfer(ctx, g, "n3")
		if err != nil || got != nodes[2].self.ID {
			t.Fatal(got, err)
		}
		if addr, _ := w.leaderOf(g, ""); addr != "n3:7000" {
			t.Fatalf("%s is led by %s", GroupName(g), addr)
		}
	}
	if got, err := nodes[0].Transfer(ctx, 0, "n3"); err != nil || got != nodes[2].self.ID {
		t.Fatalf("asked again: %s, %v", got, err)
	}
	_, err := nodes[0].Transfer(ctx, 7, "")
	refusedWith(t, err, ErrNoTarget, "no shard 7")
	_, err = nodes[0].Transfer(ctx, 0, "n9")
	refusedWith(t, err, meta.ErrUnknownNode, `no node "n9"`)
	nodes[0].kill()
	_, err = nodes[1].Transfer(ctx, 0, "n1")
	refusedWith(t, err, ErrNoTarget, "does not answer")
	if got, err := nodes[1].Transfer(ctx, 0, ""); err != nil || got != nodes[1].self.ID {
		t.Fatal(got, err)
	}
}

// A node with a wrong clock gets no shard to lead, not even by an order, unless no other node can
// lead.
func TestLeadershipDoesNotMoveToAWrongClock(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(3)
	ctx := w.ctx()
	wrong := func(n *worldNode) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.wrong == nil {
			w.wrong = map[meta.NodeID]bool{}
		}
		w.wrong[n.self.ID] = true
	}
	if _, err := nodes[0].Transfer(ctx, 0, "n1"); err != nil {
		t.Fatal(err)
	}
	wrong(nodes[1])
	_, err := nodes[0].Transfer(ctx, 0, "n2")
	refusedWith(t, err, ErrNoTarget, "the clock of node n2 is 1h0m0s off")
	if got, err := nodes[0].Transfer(ctx, meta.GroupID, "n2"); err != nil || got != nodes[1].self.ID {
		t.Errorf("the meta group, which has no time, went to %s, %v", got, err)
	}
	if got, err := nodes[0].Transfer(ctx, 0, ""); err != nil || got != nodes[2].self.ID {
		t.Errorf("it went to %s, %v", got, err)
	}
	nodes[0].kill()
	if got, err := nodes[2].Transfer(ctx, 0, ""); err != nil || got != nodes[1].self.ID {
		t.Errorf("where nobody else was left it went to %s, %v", got, err)
	}
}

func TestANodeThatStopsHandsOverWhatItLeads(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(2)
	if err := nodes[0].Drain(w.ctx()); err != nil {
		t.Fatal(err)
	}
	for g := range w.groups {
		if addr, _ := w.leaderOf(g, ""); addr != "n2:7000" {
			t.Fatalf("%s is led by %s", GroupName(g), addr)
		}
	}
	alone := newWorld(t)
	n := alone.cluster(1)[0]
	refusedWith(t, n.Drain(alone.ctx()), ErrNoTarget, "no other voter")
}

// TestATransferThatComesLateDoesNothing: a copy of an order was held up, and the group has
// had elections since. The copy moves nothing.
func TestATransferThatComesLateDoesNothing(t *testing.T) {
	w := newWorld(t)
	nodes := w.cluster(3)
	ctx := w.ctx()
	late, err := json.Marshal(map[string]any{"verb": verbTransfer, "group": 0, "body": transferRequest{To: "n2", Term: nodes[0].group(0).Term()}, "timeout_ms": 1000, "order": leaderrpc.Order{ID: 7}})
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"n2", "n3", "n1"} {
		if _, err := nodes[0].Transfer(ctx, 0, to); err != nil {
			t.Fatal(err)
		}
	}
	answers := make(chan []byte, 1)
	nodes[0].leaderRPC.Serve(late, func(b []byte) { answers <- b })
	if answer := string(<-answers); !strings.Contains(answer, ErrLedAnew.Code) {
		t.Errorf("the late one is answered %s", answer)
	}
	if got := w.leader(0); got != nodes[0].self.ID {
		t.Errorf("%s leads", got)
	}
	// A new order is for the current term.
	if got, err := nodes[2].Transfer(ctx, 0, "n2"); err != nil || got != nodes[1].self.ID {
		t.Errorf("%s, %v", got, err)
	}
}

// leader returns the leader of a group.
func (w *world) leader(g uint32) meta.NodeID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.groups[g].leader
}
