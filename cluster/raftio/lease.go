package raftio

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Lease reports whether this node certainly still leads, without asking other nodes.
//
// A follower that accepted a leader's request at time t votes for no other node before t
// plus the heartbeat timeout (Raft's leader stickiness). The request was sent before t.
// So from the time at which the quorum-th newest acknowledged request was sent, no other
// node can be elected for a heartbeat timeout. The lease uses a part of that time,
// because clocks run at unequal speeds.
//
// The cases that would break this are closed elsewhere or here. A follower that restarts
// forgets its leader, so it keeps silent at first (Hush). A transfer lets a candidate
// pass the stickiness, so the lease is off for the rest of the term (TurnOff), and a
// transfer of an earlier term comes too late for that (transfers). While voters change
// the lease is off (Suspend). The lease is checked at each read, never by a timer: a
// paused process has paused timers.
type Lease struct {
	self   raft.ServerID
	length time.Duration
	acks   *Acks

	// known is a lease found valid, with its end: most reads check only this.
	known atomic.Pointer[validLease]

	mu       sync.Mutex // guards voters, offTerm, changing
	voters   []raft.ServerID
	offTerm  uint64
	changing int
}

type validLease struct {
	term  uint64
	until time.Duration
}

// Length is the lease's length for a heartbeat timeout.
func Length(heartbeat time.Duration) time.Duration { return heartbeat * 8 / 10 }

// NewLease returns a lease for a node.
func NewLease(self raft.ServerID, heartbeat time.Duration, acks *Acks) *Lease {
	return &Lease{self: self, length: Length(heartbeat), acks: acks}
}

// SetVoters sets the voters of the latest configuration.
func (l *Lease) SetVoters(voters []raft.ServerID) {
	l.mu.Lock()
	l.voters = voters
	l.known.Store(nil)
	l.mu.Unlock()
}

// Suspend turns the lease off until resume is called. It is used while the voters change.
func (l *Lease) Suspend() (resume func()) {
	l.mu.Lock()
	l.changing++
	l.known.Store(nil)
	l.mu.Unlock()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		l.changing--
		l.mu.Unlock()
	})
}

// TurnOff turns the lease off for the rest of a term.
func (l *Lease) TurnOff(term uint64) {
	l.mu.Lock()
	l.offTerm = max(l.offTerm, term)
	l.known.Store(nil)
	l.mu.Unlock()
}

// Valid reports whether the lease holds now, in a term this node leads.
func (l *Lease) Valid(term uint64) bool {
	now := Now()
	if k := l.known.Load(); k != nil && k.term == term && now < k.until {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changing > 0 || l.offTerm >= term || len(l.voters) == 0 {
		return false
	}
	sent := QuorumSent(l.acks, l.self, l.voters, term, now)
	until := sent + l.length
	if sent == 0 || now >= until {
		return false
	}
	l.known.Store(&validLease{term, until})
	return true
}

// QuorumSent is the newest time such that a quorum of voters has acknowledged a request
// sent then or later. This node's own time is now, if it votes. It returns 0 if there is
// no such time.
func QuorumSent(acks *Acks, self raft.ServerID, voters []raft.ServerID, term uint64, now time.Duration) time.Duration {
	if len(voters) == 0 {
		return 0
	}
	var buf [9]time.Duration
	sent := buf[:0]
	for _, id := range voters {
		if id == self {
			sent = append(sent, now)
		} else {
			sent = append(sent, acks.Sent(id, term))
		}
	}
	slices.Sort(sent)
	quorum := len(voters)/2 + 1
	return sent[len(sent)-quorum]
}
