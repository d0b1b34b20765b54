package node

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/shard"
	"lockstep/engine/hashslot"
	"lockstep/fsm"
)

// What a script may not reach in a cluster of several shards it does not reach when the
// log is read again in a recovery either: its caller was told so.
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

// Where only learners are left, each folder must give the group to the same voters.
func TestLearnersThatRemainAgreeOnWhoVotes(t *testing.T) {
	found := shard.GroupState{Members: []shard.Member{{ID: "n1", Voter: true}, {ID: "n2"}, {ID: "n3"}}}
	for _, self := range []string{"n2", "n3"} {
		r := &Recovery{Node: self, Lost: []RecoveryNode{{ID: "n1"}}}
		g := r.judge(meta.GroupID, found)
		if want := []shard.Member{{ID: "n2", Voter: true}, {ID: "n3", Voter: true}}; !g.Stuck || !slices.Equal(g.members, want) {
			t.Errorf("%s gives the group to %+v", self, g.members)
		}
	}
}
