package membership

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/cluster/meta"
)

// viewOf makes a view from words like "a b:leaving c:removed d@addr e:leaving>d f:leaving! g:left".
// The address of a node is its name if none is given, > gives a successor, ! means forced, and
// "left" means leaving and detached from all shards. "none" is a member without a replica, "going"
// one whose replica should go, and "has" a leaving one that should keep its replica for now.
func viewOf(words string) *meta.View {
	v := &meta.View{ClusterID: "c", Shards: []meta.Shard{{ID: 0}}}
	s := &v.Shards[0]
	for _, w := range strings.Fields(words) {
		w, next, _ := strings.Cut(w, ">")
		w, forced := strings.CutSuffix(w, "!")
		w, addr, _ := strings.Cut(w, "@")
		name, state, _ := strings.Cut(w, ":")
		n := meta.Node{ID: meta.NodeID(name), Name: name, PeerAddr: name, State: meta.Member, Forced: forced, ReplacedBy: meta.NodeID(next)}
		if addr != "" {
			n.PeerAddr = addr
		}
		switch state {
		case "left":
			n.State, n.DetachedFrom = meta.Leaving, []uint32{0}
		case "":
		case "none", "going", "has":
			v.Replicas = 3
			if state == "has" {
				n.State = meta.Leaving
			}
			if state == "going" {
				s.Going = append(s.Going, meta.Going{Node: n.ID, Since: 5})
			}
		default:
			n.State = meta.NodeState(state)
		}
		if n.State.Live() && state != "none" && state != "going" || state == "has" {
			s.Replicas = append(s.Replicas, n.ID)
		}
		if n.State == meta.Removed {
			v.Tombstones = append(v.Tombstones, n)
		} else {
			v.Nodes = append(v.Nodes, n)
		}
	}
	return v
}

// peersOf makes servers from words like "A b! c? d?. e@addr". Upper case means the leader, ! dead,
// !* dead for long, ? a non-voter that has caught up, ?. one that has not, and - after a voter
// means that it lags.
func peersOf(words string) []Peer {
	var peers []Peer
	for _, w := range strings.Fields(words) {
		p := Peer{Voter: true, Alive: true, CaughtUp: true}
		w, addr, _ := strings.Cut(w, "@")
		for {
			var cut bool
			if w, cut = strings.CutSuffix(w, "*"); cut {
				p.Lost = true
			} else if w, cut = strings.CutSuffix(w, "+"); cut {
				p.Filled = true
			} else if w, cut = strings.CutSuffix(w, "!"); cut {
				p.Alive = false
			} else if w, cut = strings.CutSuffix(w, "."); cut {
				p.CaughtUp = false
			} else if w, cut = strings.CutSuffix(w, "-"); cut {
				p.CaughtUp = false
			} else if w, cut = strings.CutSuffix(w, "?"); cut {
				p.Voter = false
			} else {
				break
			}
		}
		name := strings.ToLower(w)
		p.Self = name != w
		p.ID, p.Addr = meta.NodeID(name), name
		if addr != "" {
			p.Addr = addr
		}
		peers = append(peers, p)
	}
	return peers
}

func actionWords(a Action) string {
	switch {
	case a.Verb == Nothing && a.Waits == "":
		return "nothing"
	case a.Verb == Nothing:
		return "wait: " + a.Waits
	case a.Verb == Add || a.Verb == Readdress:
		return fmt.Sprintf("%s %s@%s", a.Verb, a.ID, a.Addr)
	}
	return fmt.Sprintf("%s %s", a.Verb, a.ID)
}

func TestPlan(t *testing.T) {
	for _, c := range []struct{ name, view, peers, want string }{
		{"agreement", "a b c", "A b c", "nothing"},
		{"one node", "a", "A", "nothing"},
		{"a newcomer comes in as non-voter", "a b:joining", "A", "add b@b"},
		{"one at a time", "a b:joining c:joining", "A", "add b@b"},
		{"a newcomer that lags waits", "a b:joining", "A b?.", "wait: b is catching up"},
		{"a newcomer that is gone waits", "a b:joining", "A b?.!", "wait: b does not answer"},
		{"one that is sent a snapshot waits", "a b:joining", "A b?.!+", "wait: b is being sent a snapshot"},
		{"a lagging newcomer does not hold up the next", "a b:joining c:joining", "A b?.", "add c@c"},
		{"caught up", "a b:joining", "A b?", "promote b"},
		{"caught up, the other not", "a b c", "A b?. c?", "promote c"},
		{"a promotion must not cost the quorum", "a b c d", "A b c! d?", "promote d"},
		{"a promotion that would", "a b c d e f", "A b c d! e! f?", "promote f"},
		{"even with the newcomer too few", "a b c d", "A b! c! d?", "wait: d cannot become a voter: 2 of 4 voters would be alive, and 3 are needed"},

		{"a leaving node is taken out", "a b c:leaving", "A b c", "remove c"},
		{"a removed node is taken out", "a b c:removed", "A b c", "remove c"},
		{"a dead one too", "a b c:leaving", "A b c!", "remove c"},
		{"not if the rest lacks a quorum", "a b c:leaving", "A b! c", "wait: without c, 1 of 2 voters would be alive, and 2 are needed"},
		{"unless forced", "a b c:leaving!", "A b! c", "remove c"},
		{"never the only voter", "a:leaving! b:joining", "A b?.", "wait: b is catching up"},
		{"two of five dead and leaving", "a b c d:leaving e:leaving", "A b c d! e!", "remove d"},
		{"down to one", "a b:leaving", "A b", "remove b"},
		{"a leaving non-voter", "a b c:leaving", "A b! c?.", "remove c"},
		{"a server the view does not know stays", "a", "A x", "nothing"},

		{"a leader that leaves hands over", "a:leaving b c", "A b c", "hand over to b"},
		{"to one that is close", "a:leaving b c", "A b- c", "hand over to c"},
		{"to one that answers", "a:leaving b c d", "A b! c d", "hand over to c"},
		{"to one that stays", "a:leaving b:leaving>z c z@b", "A b c", "hand over to c"},
		{"or waits", "a:leaving b", "A b-", "wait: nobody is ready to take over the leadership from a"},

		{"the dead go before newcomers vote", "a b c:leaving>d d", "A b c! d?", "remove c"},
		{"the living stay until their successor votes", "a b c:leaving>d d", "A b c d?.", "wait: d is catching up"},
		{"whose promotion comes first", "a b c:leaving>d d", "A b c d?", "promote d"},
		{"and then they go", "a b c:leaving>d d", "A b c d", "remove c"},
		{"or when their successor has left", "a b c:leaving>d d:removed", "A b c", "remove c"},
		{"a successor at the same address waits", "a b c:leaving>d d@c", "A b c", "remove c"},
		{"and comes when it is free", "a b c:leaving>d d@c", "A b", "add d@c"},
		{"a dead one in its way goes", "a b c:leaving>d d@c", "A b c!", "remove c"},
		{"a blocked one in its way is said", "a b c:leaving d@c", "A b! c", "wait: d waits for c to leave the address c"},

		{"a node without a replica stays outside", "a b c d:none", "A b c", "nothing"},
		{"nor is it taken out for that alone", "a b c d:none", "A b c d", "nothing"},
		{"a replica that is not wanted goes", "a b c d:going", "A b c d", "remove d"},
		{"also one that never voted", "a b c d:going", "A b c d?.", "remove d"},
		{"not before the others are enough", "a b c:going", "A b! c", "wait: without c, 1 of 2 voters would be alive, and 2 are needed"},
		{"a leader that goes hands over", "a:going b c", "A b c", "hand over to b"},
		{"a leaving node keeps what is still wanted", "a b c:has d", "A b c d?.", "wait: d is catching up"},

		{"an address that changed", "a b@new c", "A b c", "readdress b@new"},
		{"of a leaving node does not matter", "a b:leaving@new c", "A b! c", "remove b"},
		{"nor does one that is taken", "a b@c c:leaving", "A b c", "remove c"},
		{"two that have changed places", "a b@c c@b", "A b c", "readdress b@b.invalid:1"},
		{"and the other can move", "a b@c c@b", "A b@b.invalid:1 c", "readdress c@b"},
		{"and then the first", "a b@c c@b", "A b@b.invalid:1 c@b", "readdress b@c"},
		{"three in a circle", "a@b b@c c@a", "A b c", "readdress a@a.invalid:1"},
		{"one after the other is no circle", "a b@c c@d d@e", "A b c d", "readdress d@e"},
		{"nor is one who does not move on", "a b@c c@d d:leaving", "A b c d", "remove d"},
	} {
		if got := actionWords(Plan(viewOf(c.view), 0, peersOf(c.peers))); got != c.want {
			t.Errorf("%s: %q with %q: %s, want %s", c.name, c.view, c.peers, got, c.want)
		}
	}
}

func TestTheMetaGroupLetsGoLast(t *testing.T) {
	for _, c := range []struct{ view, want string }{
		{"a b c:leaving", "nothing"},
		{"a b c:left", "remove c"},
		{"a b c:removed", "remove c"},
	} {
		if got := actionWords(Plan(viewOf(c.view), meta.GroupID, peersOf("A b c"))); got != c.want {
			t.Errorf("%q: %s, want %s", c.view, got, c.want)
		}
	}
}

func TestTheMetaGroupHasFiveVoters(t *testing.T) {
	for _, c := range []struct{ name, view, peers, want string }{
		{"the sixth follows", "a b c d e f", "A b c d e f?", "nothing"},
		{"and takes a seat that becomes free", "a b c d e:leaving f", "A b c d e f?", "promote f"},
		{"whose owner has left the shards", "a b c d e:left f", "A b c d e f", "remove e"},
		{"one that is away keeps its seat", "a b c d e f", "A b c d e! f?", "nothing"},
		{"for a while", "a b c d e f", "A b c d e!* f?", "demote e"},
		{"if somebody can take it", "a b c d e f", "A b c d e!* f?.", "nothing"},
		{"and then that one does", "a b c d e f", "A b c d e?.! f?", "promote f"},
	} {
		if got := actionWords(Plan(viewOf(c.view), meta.GroupID, peersOf(c.peers))); got != c.want {
			t.Errorf("%s: %q with %q: %s, want %s", c.name, c.view, c.peers, got, c.want)
		}
	}
}

// TestAnyPlanEndsWithQuorumAlive carries out plans to their end, from every mix of live and dead
// nodes, and checks each state in between.
func TestAnyPlanEndsWithQuorumAlive(t *testing.T) {
	states := []string{"", ":leaving", ":removed"}
	marks := []string{"", "!", "?", "?.", "?.!"}
	for i := range 3 * 3 * 3 * 3 * 5 * 5 * 5 {
		pick := func(n int) int { k := i % n; i /= n; return k }
		view := "a" + states[pick(2)] + " b" + states[pick(3)] + " c" + states[pick(3)] + " d" + states[pick(3)]
		peers := "A b" + marks[pick(5)] + " c" + marks[pick(5)] + " d" + marks[pick(5)]
		follow(t, viewOf(view), view, peersOf(peers), peers)
	}
}

func follow(t *testing.T, v *meta.View, view string, peers []Peer, start string) {
	for range 20 {
		voters, alive := count(peers)
		if alive < quorum(voters) {
			return // the group has no quorum from the beginning
		}
		a := Plan(v, 0, peers)
		if a.Verb == Nothing {
			return
		}
		if a.Verb == HandOver {
			for i := range peers {
				peers[i].Self = peers[i].ID == a.ID
			}
		}
		peers = carryOut(peers, a)
		if voters, alive := count(peers); voters == 0 || alive < quorum(voters) {
			t.Fatalf("view %q from %q: %s leaves %d of %d voters alive", view, start, actionWords(a), alive, voters)
		}
	}
	t.Fatalf("view %q from %q: no end", view, start)
}

func count(peers []Peer) (voters, alive int) {
	for _, p := range peers {
		if p.Voter {
			voters++
			if p.Alive {
				alive++
			}
		}
	}
	return voters, alive
}

func carryOut(peers []Peer, a Action) []Peer {
	var next []Peer
	for _, p := range peers {
		switch {
		case p.ID == a.ID && a.Verb == Remove:
			continue
		case p.ID == a.ID && a.Verb == Promote:
			p.Voter = true
		case p.ID == a.ID && a.Verb == Readdress:
			p.Addr = a.Addr
		}
		next = append(next, p)
	}
	if a.Verb == Add {
		next = append(next, Peer{ID: a.ID, Addr: a.Addr, Alive: true, CaughtUp: true})
	}
	return next
}
