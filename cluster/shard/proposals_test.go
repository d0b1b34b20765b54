package shard

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// TestWhoSeesAnEntryAppliedAnswersItsProposal: then no goroutine waits for Raft.
func TestWhoSeesAnEntryAppliedAnswersItsProposal(t *testing.T) {
	w := newWorld(t, 1, raftio.StoreWAL, nil)
	leader := w.leader()
	answers := make(chan error, 2)
	p := leader.group.NewProposal(func(err error) { answers <- err })
	p.Applied()
	if len(answers) != 0 {
		t.Error("answered before it set out")
	}
	ps := &leader.group.proposals
	if !ps.add(p) {
		t.Fatal("not taken")
	}
	p.Applied()
	p.Applied()
	if err := <-answers; err != nil || len(answers) != 0 {
		t.Errorf("%v, and %d more answers", err, len(answers))
	}
	if p.heard {
		t.Error("somebody waits for Raft")
	}
}

// TestRaftIsAskedForLateAnswers: the caller that would see the entry applied may have been
// forgotten, and then only Raft's answer is left.
func TestRaftIsAskedForLateAnswers(t *testing.T) {
	w := newWorld(t, 3, raftio.StoreWAL, nil)
	answers := make(chan error, 1)
	send := func(n *testNode) error {
		t.Helper()
		n.group.NewProposal(func(err error) { answers <- err }).Send([]byte("x"))
		select {
		case err := <-answers:
			return err
		case <-time.After(patience):
			t.Fatal("no answer")
			return nil
		}
	}
	var leader *testNode
	w.until("no election beside it", func() bool {
		leader = w.leader()
		term := leader.group.Term()
		done, refused := send(leader), send(w.others(leader)[0])
		if !leader.group.IsLeader() || leader.group.Term() != term {
			return false
		}
		if done != nil {
			t.Errorf("the leader: %v", done)
		}
		if !errors.Is(refused, ErrNotProposed) {
			t.Errorf("a follower: %v", refused)
		}
		return true
	})
	ps := &leader.group.proposals
	w.until("nobody looks for what is late", func() bool {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		return !ps.timing
	})
}

// TestALostLeadershipAnswersProposals: at once, because clients wait.
func TestALostLeadershipAnswersProposals(t *testing.T) {
	w := newWorld(t, 3, raftio.StoreWAL, nil)
	w.until("a leader that takes an entry, and no more", func() bool {
		old := w.leader()
		cutOff([]*testNode{old}, w.others(old), true)
		defer cutOff([]*testNode{old}, w.others(old), false)
		answers := make(chan error, 1)
		old.group.NewProposal(func(err error) { answers <- err }).Send([]byte("x"))
		w.until("another leader", func() bool { return !old.group.IsLeader() })
		select {
		case err := <-answers:
			if errors.Is(err, ErrNotProposed) {
				return false // it no longer led when it was asked
			}
			if !errors.Is(err, ErrOutcomeUnknown) {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("no answer")
		}
		return true
	})
}

// neverAnswered is an order that Raft has left in its queue.
type neverAnswered struct{}

func (neverAnswered) Error() error { select {} }

// TestATransferEndsWithItsRaft: Raft never answers an order to transfer that is in its queue when
// it shuts down. That once kept the group from accepting proposals for ever.
func TestATransferEndsWithItsRaft(t *testing.T) {
	stop := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- awaitFuture(neverAnswered{}, stop) }()
	close(stop)
	select {
	case err := <-ended:
		if !errors.Is(err, raft.ErrRaftShutdown) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it waits for ever")
	}
	var ps proposals
	ps.init()
	ps.refuse(true)
	ps.close()
	ps.reopen()
	if !ps.add(&Proposal{}) {
		t.Error("a Raft that was opened anew refuses proposals")
	}
}
