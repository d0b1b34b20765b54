package recovery

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/shard"
	"lockstep/engine/hashslot"
	"lockstep/fsm"
)

// votersAfter returns the voters of a group after the recovery of a node's folder in which the
// group has these members.
func votersAfter(own string, lost []string, members []shard.Member) (voters []string) {
	r := Recovery{Node: own}
	for _, id := range lost {
		r.Lost = append(r.Lost, Node{ID: id})
	}
	g := r.assess(meta.GroupID, shard.GroupState{Members: members})
	for _, m := range g.members {
		if m.Voter {
			voters = append(voters, string(m.ID))
		}
	}
	return voters
}

// If all voters are lost, the remaining nodes become voters together. If each became the only
// voter, each would lead, and would not know what the other acknowledged. The same holds for a
// remaining node that does not know yet that another one votes.
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
		// Any majority of the one must share a node with any majority of the other.
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

// A script in a cluster of several shards gets an error for a key of another shard. When a recovery
// replays the log, the script must get the same error, because its caller has seen it.
func TestARecoveryReadsTheLogAsTheReplicasDid(t *testing.T) {
	folder, err := identity.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	creation := meta.Creation{LockSlots: 16, HeartbeatMs: 300, ElectionMs: 300, Seeds: identity.NewSeeds(2)}
	if err := folder.Found("n1", creation); err != nil {
		t.Fatal(err)
	}
	r := &Recovery{folder: folder, log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	machine := r.machine(0)
	defer machine.Close()
	var own, foreign string
	for i := 0; own == "" || foreign == ""; i++ {
		key := fmt.Sprint("key", i)
		if creation.Layout().ShardOfSlot(uint16(hashslot.Of([]byte(key)))) == 0 {
			own = key
		} else {
			foreign = key
		}
	}
	for i, key := range []string{own, foreign} {
		script := fmt.Sprintf("redis.call('set', '%s', 'v')", key)
		txn := fsm.Txn{Proto: 2, Ops: []fsm.Op{{Args: [][]byte{[]byte("eval"), []byte(script), []byte("0")}}}}
		index := uint64(i + 1)
		entry := fsm.NewEntryBuilder(0, fsm.EntryID{Node: 1, Boot: 1, N: index}, 1000, 128)
		entry.Add(fsm.AppendBundle(nil, &fsm.Bundle{Txns: []fsm.Txn{txn}}))
		if err := machine.Apply(index, entry.Finish()); err != nil {
			t.Fatal(err)
		}
		machine.Sched().Drain()
		if keys := machine.Keyspace().Keys(0); keys != 1 {
			t.Errorf("behind the script that sets %s there are %d keys", key, keys)
		}
	}
}

// A replica that was new when the others were lost has no data, and knows no voters. It cannot be
// recovered, and must not prevent the recovery of the folder's other groups.
func TestAReplicaThatNobodyHasFilledIsNotStuck(t *testing.T) {
	r := Recovery{Node: "n4", Lost: []Node{{ID: "n1"}}}
	if g := r.assess(0, shard.GroupState{}); g.Stuck {
		t.Errorf("%+v", g)
	}
}

// An interrupted recovery must be repeated with all nodes that were given up then. Otherwise a
// group that was not recovered yet would need one of them for its quorum.
func TestARecoveryThatHasBegunForgetsNobody(t *testing.T) {
	folder, err := identity.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if err := folder.Found("n1", meta.Creation{LockSlots: 16, HeartbeatMs: 300, ElectionMs: 300, Seeds: identity.NewSeeds(1)}); err != nil {
		t.Fatal(err)
	}
	if err := folder.BeginRecovery([]meta.NodeID{"n2", "n3"}); err != nil {
		t.Fatal(err)
	}
	group := shard.GroupState{Members: []shard.Member{{ID: "n1", Voter: true}, {ID: "n2", Voter: true}, {ID: "n3", Voter: true}}}
	r := &Recovery{folder: folder, Lost: []Node{{ID: "n2"}}}
	if r.forgotten(group) == nil {
		t.Error("n3 is not named, and nobody misses it")
	}
	r.Lost = append(r.Lost, Node{ID: "n3"})
	if err := r.forgotten(group); err != nil {
		t.Error(err)
	}
	r.Lost = nil
	if err := r.forgotten(shard.GroupState{Members: group.Members[:1]}); err != nil {
		t.Errorf("a group that has been recovered: %v", err)
	}
	if err := folder.EndRecovery(); err != nil {
		t.Fatal(err)
	}
	if err := r.forgotten(group); err != nil {
		t.Errorf("behind its end: %v", err)
	}
}
