package raftio

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

const leaseHeartbeat = time.Hour

func leaseOf(voters ...raft.ServerID) (*Lease, *Acks) {
	acks := NewAcks()
	l := NewLease("a", leaseHeartbeat, acks)
	l.SetVoters(voters)
	return l, acks
}

func TestLeaseNeedsAQuorumOfFreshSends(t *testing.T) {
	l, acks := leaseOf("a", "b", "c", "d", "e")
	if l.Valid(3) {
		t.Error("without any answer")
	}
	acks.note("b", 3, Now(), 0)
	if l.Valid(3) {
		t.Error("with two of five")
	}
	acks.note("x", 3, Now(), 0)
	if l.Valid(3) {
		t.Error("with one that does not vote")
	}
	acks.note("c", 3, Now()-leaseHeartbeat, 0)
	if l.Valid(3) {
		t.Error("with a send of long ago, whenever its answer came")
	}
	acks.note("c", 3, Now(), 0)
	if !l.Valid(3) {
		t.Error("not with three of five")
	}
	if l.Valid(4) {
		t.Error("in another term")
	}
}

func TestLeaseEnds(t *testing.T) {
	acks := NewAcks()
	l := NewLease("a", 20*time.Millisecond, acks)
	l.SetVoters([]raft.ServerID{"a", "b"})
	acks.note("b", 1, Now(), 0)
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.Valid(1) {
		select {
		case <-deadline:
			t.Fatal("it does not")
		case <-tick.C:
		}
	}
}

func TestLeaseIsOffForTheRestOfATermAfterATransferBegan(t *testing.T) {
	l, acks := leaseOf("a", "b", "c")
	acks.note("b", 3, Now(), 0)
	if !l.Valid(3) {
		t.Fatal("not valid")
	}
	l.TurnOff(3)
	acks.note("b", 3, Now(), 0)
	if l.Valid(3) {
		t.Error("still valid")
	}
	acks.note("b", 4, Now(), 0)
	if !l.Valid(4) {
		t.Error("off in the next term too")
	}
}

func TestLeaseIsOffWhileVotersChange(t *testing.T) {
	l, acks := leaseOf("a", "b", "c")
	acks.note("b", 3, Now(), 0)
	if !l.Valid(3) {
		t.Fatal("not valid")
	}
	resume := l.Suspend()
	other := l.Suspend()
	resume()
	resume()
	if l.Valid(3) {
		t.Error("valid during the second change")
	}
	l.SetVoters([]raft.ServerID{"a", "b", "c", "d"})
	other()
	if l.Valid(3) {
		t.Error("valid with two of four")
	}
	acks.note("d", 3, Now(), 0)
	if !l.Valid(3) {
		t.Error("not valid with three of four")
	}
}

// A lease that was found valid does not stay valid if the voters change.
func TestLeaseIsJudgedAnewWhenTheVotersAreOthers(t *testing.T) {
	l, acks := leaseOf("a", "b", "c")
	acks.note("b", 3, Now(), 0)
	if !l.Valid(3) {
		t.Fatal("not valid")
	}
	l.SetVoters([]raft.ServerID{"a", "b", "c", "d"})
	if l.Valid(3) {
		t.Error("valid with two of four")
	}
}

func TestOnlyVoterAlwaysHasTheLease(t *testing.T) {
	l, _ := leaseOf("a")
	if !l.Valid(1) {
		t.Error("it has not")
	}
	l, _ = leaseOf("b")
	if l.Valid(1) {
		t.Error("one that does not vote has it")
	}
}

func TestNoVotersNoLease(t *testing.T) {
	if l, _ := leaseOf(); l.Valid(1) {
		t.Error("valid")
	}
}

func BenchmarkLeaseValid(b *testing.B) {
	l, acks := leaseOf("a", "b", "c")
	acks.note("b", 3, Now(), 0)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !l.Valid(3) {
				b.Fail()
			}
		}
	})
}
