package shard

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// A replica becomes a voter when it has caught up. The acknowledgements of an earlier replica in
// its place must not count for it.
func TestWhoIsTakenInAgainHasAcknowledgedNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, steady)
	w.write(30)
	fresh := w.add("n4", raftio.StoreBolt, nil)
	fresh.start()
	leader := w.leader()
	addr := raft.ServerAddress(fresh.door.addr)
	w.must(leader.group.Changes().AddNonvoter(w.ctx(), fresh.id, addr, 0))
	w.caughtUp(leader, fresh)
	before := leader.group.Progress(fresh.id)
	fresh.stop()
	w.must(leader.group.Changes().Remove(w.ctx(), fresh.id, 0))
	w.must(leader.group.Changes().AddNonvoter(w.ctx(), fresh.id, addr, 0))
	if now := leader.group.Progress(fresh.id); before == 0 || now != 0 {
		t.Errorf("index %d was acknowledged before it was removed, %d when it was taken in again", before, now)
	}
	// Changing the address of a server forgets nothing.
	other := w.others(leader)[0]
	w.until("an acknowledgement", func() bool { return leader.group.Progress(other.id) > 0 })
	w.must(leader.group.Changes().AddVoter(w.ctx(), other.id, raft.ServerAddress(other.door.addr), 0))
	if leader.group.Progress(other.id) == 0 {
		t.Error("a member was forgotten")
	}
}

func TestLearnerCatchesUpAndIsPromoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, steady)
	w.write(30)
	fresh := w.add("n4", raftio.StoreBolt, nil)
	fresh.start()
	leader := w.leader()
	_, index := leader.group.Members()
	addr := raft.ServerAddress(fresh.door.addr)
	w.must(leader.group.Changes().AddNonvoter(w.ctx(), fresh.id, addr, index))
	w.caughtUp(leader, fresh)
	w.until("a learner", func() bool { return fresh.group.Stats().Role == "learner" })
	if age, ok := leader.group.LastAck(fresh.id); !ok || age > patience {
		t.Errorf("last acknowledgement %v ago, %v", age, ok)
	}

	if err := leader.group.Changes().AddVoter(w.ctx(), fresh.id, addr, index); err == nil {
		t.Error("a decision on an old configuration was carried out")
	}
	_, index = leader.group.Members()
	w.must(leader.group.Changes().AddVoter(w.ctx(), fresh.id, addr, index))
	if leader.group.Voters() != 4 {
		t.Errorf("%d voters", leader.group.Voters())
	}
	w.write(5)
	w.agree()
	w.until("a voter", func() bool { return fresh.group.Voters() == 4 })

	// The leader itself is removed.
	_, index = leader.group.Members()
	w.must(leader.group.Changes().Remove(w.ctx(), leader.id, index))
	rest := w.others(leader)
	w.write(5, rest...)
	w.agree(rest...)
	if leader.group.IsLeader() {
		t.Error("the removed leader leads")
	}
	if err := leader.group.Append(w.ctx(), []byte("x")); !errors.Is(err, ErrNotProposed) {
		t.Errorf("the removed leader: %v", err)
	}
}
