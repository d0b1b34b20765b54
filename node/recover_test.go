package node

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
)

// votersAfter are who votes in a group after the recovery of a node's folder that
// names these members.
func votersAfter(own string, lost []string, members []shard.Member) (voters []string) {
	r := Recovery{Node: own}
	for _, id := range lost {
		r.Lost = append(r.Lost, RecoveryNode{ID: id})
	}
	g := r.judge(meta.GroupID, shard.GroupState{Members: members})
	for _, m := range g.members {
		if m.Voter {
			voters = append(voters, string(m.ID))
		}
	}
	return voters
}

// Where the lost nodes had all the votes, those that remain vote together: if each
// counted on itself alone, each would lead, and what one acknowledged the other would
// not know. So it is with one that remains and has not heard yet that another votes.
func TestThoseThatRemainDoNotLeadEachForItself(t *testing.T) {
	member := func(id string, voter bool) shard.Member { return shard.Member{ID: raft.ServerID(id), Voter: voter} }
	five := []string{"n1", "n2", "n3", "n4", "n5"}
	var seven []shard.Member
	for i := range 7 {
		seven = append(seven, member(fmt.Sprint("n", i+1), i < 5))
	}
	for _, c := range []struct {
		what  string
		lost  []string
		folds map[string][]shard.Member
	}{
		{"two learners", five, map[string][]shard.Member{"n6": seven, "n7": seven}},
		{"a growing group", []string{"n1"}, map[string][]shard.Member{
			"n2": {member("n1", true), member("n2", true), member("n3", false)},
			"n3": {member("n1", true), member("n2", false), member("n3", false)},
		}},
	} {
		var all [][]string
		for own, members := range c.folds {
			all = append(all, votersAfter(own, c.lost, members))
		}
		// Any majority of the one must meet any of the other.
		both := 0
		for _, id := range all[0] {
			if slices.Contains(all[1], id) {
				both++
			}
		}
		apart := (len(all[0]) - both) + (len(all[1]) - both)
		if needs := len(all[0])/2 + 1 + len(all[1])/2 + 1; needs <= both+apart {
			t.Errorf("%s: %v, and on the other node %v", c.what, all[0], all[1])
		}
	}
}
