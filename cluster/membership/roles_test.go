package membership

import (
	"testing"

	"lockstep/cluster/meta"
)

// carefulView is viewOf with drained nodes and learners.
func carefulView(words string, drained, learners []meta.NodeID) *meta.View {
	v := viewOf(words)
	for i := range v.Nodes {
		n := &v.Nodes[i]
		for _, id := range drained {
			n.Drained = n.Drained || n.ID == id
		}
		for _, id := range learners {
			n.Learner = n.Learner || n.ID == id
		}
	}
	return v
}

func TestDrainedNodesLeadNothingAndLearnersDoNotVote(t *testing.T) {
	ids := func(all ...meta.NodeID) []meta.NodeID { return all }
	for _, c := range []struct {
		name, view, peers string
		drained, learners []meta.NodeID
		want              string
	}{
		{"a drained leader hands over", "a b c", "A b c", ids("a"), nil, "hand over to b"},
		{"not to another drained one", "a b c", "A b c", ids("a", "b"), nil, "hand over to c"},
		{"nor to one that lags", "a b c", "A b- c", ids("a"), nil, "hand over to c"},
		{"a drained follower is left alone", "a b c", "A b c", ids("b"), nil, "nothing"},
		{"or says why not", "a b c", "A b! c!", ids("a"), nil, "wait: a is drained, and nobody is ready to take over the leadership"},
		{"all drained: who leads goes on", "a b", "A b", ids("a", "b"), nil, "wait: a is drained, and nobody is ready to take over the leadership"},
		{"a leaving leader goes to a drained one rather than to nobody", "a:leaving b", "A b", ids("b"), nil, "hand over to b"},
		{"and to another if there is one", "a:leaving b c", "A b c", ids("b"), nil, "hand over to c"},
		{"members come first", "a b c:joining", "A b", ids("a"), nil, "add c@c"},
		{"a learner comes in", "a b:joining", "A", nil, ids("b"), "add b@b"},
		{"and stays without a vote", "a b", "A b?", nil, ids("b"), "nothing"},
		{"others are promoted past it", "a b c", "A b? c?", nil, ids("b"), "promote c"},
		{"it leaves like any other", "a b:leaving", "A b?", nil, ids("b"), "remove b"},
		{"and is readdressed", "a b@x", "A b?", nil, ids("b"), "readdress b@x"},
	} {
		if got := actionWords(Plan(carefulView(c.view, c.drained, c.learners), 0, peersOf(c.peers))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
