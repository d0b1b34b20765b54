package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// errNotCaughtUp ends a transfer to a server that has not acknowledged the log's end
// within an election timeout.
var errNotCaughtUp = errors.New("the one that is to lead has not caught up")

// errShort ends a transfer to a node that would take writes on, for it does not know
// how many voters are awaited.
var errShort = errors.New("too few of the nodes that are awaited vote yet")

// Handover is what an owner of a group does beside a transfer of the leadership.
type Handover interface {
	// Hand is called when no entries are taken any more and the next leader has all of
	// the log, up to its last index in a term.
	Hand(to raft.ServerAddress, term, last uint64)
	// End is called when the transfer is over, whoever leads.
	End()
}

// TransferTo gives the leadership to a server, or, with an empty id, to the
// one that is furthest. From the order to lead on the lease is off for the rest of
// the term (package raftio, transfer.go): the new leader is elected past the
// followers' promise.
//
// The library, too, would bring that server up to date first. But it waits for the
// goroutine that sends the log there, also when that one has ended with the leadership
// or will be busy for long with a server that does not answer; and until it has waited
// it takes no entries, in later terms of this node neither. So here nothing is asked
// of it before the server has acknowledged all there is, and at the end of that wait no
// entries are taken.
func (g *Group) TransferTo(ctx context.Context, id raft.ServerID) error {
	return within(ctx, func() error { return g.transfer(id) })
}

func (g *Group) transfer(id raft.ServerID) error {
	if !g.transferring.TryLock() {
		return raft.ErrLeadershipTransferInProgress
	}
	defer g.transferring.Unlock()
	if g.Short() {
		return errShort
	}
	p, err := g.openParts()
	if err != nil {
		return err
	}
	r := p.raft
	term, leads := leadership(r)
	if !leads {
		return raft.ErrNotLeader
	}
	if id == "" {
		id = g.furthest(term)
	}
	addr, err := g.addressOf(id)
	if err != nil {
		return err
	}
	// A long entry may be on its way there for a while, and new ones are taken meanwhile.
	now := r.LastIndex()
	if err := g.awaitCaughtUp(r, term, id, func() uint64 { return now }); err != nil {
		return err
	}
	var handover Handover
	if g.cfg.HandOver != nil {
		handover = g.cfg.HandOver()
		defer handover.End()
	}
	g.proposals.refuse(true)
	defer g.proposals.refuse(false)
	if err := g.awaitCaughtUp(r, term, id, r.LastIndex); err != nil {
		return err
	}
	if handover != nil {
		handover.Hand(addr, term, r.LastIndex())
	}
	return awaitFuture(r.LeadershipTransferToServer(id, addr), p.stop)
}

// awaitFuture waits for the library's answer, or for the end of its Raft: the library never
// answers an order to transfer that is in its queue then.
func awaitFuture(f raft.Future, stop <-chan struct{}) error {
	answered := make(chan error, 1)
	go func() { answered <- f.Error() }()
	select {
	case err := <-answered:
		return err
	case <-stop:
		return raft.ErrRaftShutdown
	}
}

// furthest is the voter beside this node that has acknowledged most of the log; of
// several, the one that was heard last.
func (g *Group) furthest(term uint64) (best raft.ServerID) {
	var match uint64
	var sent time.Duration
	for _, id := range g.latest.Load().Voters() {
		m, s := g.acks.Match(id, term), g.acks.Sent(id, term)
		if id != g.cfg.LocalID && (best == "" || m > match || m == match && s > sent) {
			best, match, sent = id, m, s
		}
	}
	return best
}

func (g *Group) addressOf(id raft.ServerID) (raft.ServerAddress, error) {
	for _, s := range g.latest.Load().Servers {
		if s.ID == id && s.Suffrage == raft.Voter {
			return s.Address, nil
		}
	}
	return "", fmt.Errorf("%s is no voter of group %d", id, g.cfg.ID)
}

// awaitCaughtUp waits until a server has acknowledged the log up to an index, no longer
// than for an election.
func (g *Group) awaitCaughtUp(r *raft.Raft, term uint64, id raft.ServerID, upTo func() uint64) error {
	if id == g.cfg.LocalID {
		return nil // the library says what is wrong with that
	}
	late := time.NewTimer(ms(g.cfg.ElectionMs))
	defer late.Stop()
	for {
		changed := g.acks.Changed()
		if now, leads := leadership(r); !leads || now != term {
			return raft.ErrLeadershipLost
		}
		if g.acks.Match(id, term) >= upTo() {
			return nil
		}
		select {
		case <-changed:
		case <-late.C:
			return errNotCaughtUp
		}
	}
}

// beginsBehind reports whether the term that this node leads begins behind an entry,
// which is of another term; known is false where that cannot be told yet.
func (g *Group) beginsBehind(before, index uint64) (term uint64, yes, known bool) {
	term, leads := g.Leadership()
	// The caller may stand in the way of shutdown, which holds the lock.
	if !leads || !g.mu.TryLock() {
		return 0, false, false
	}
	defer g.mu.Unlock()
	if g.closed {
		return 0, false, false
	}
	var last, next raft.Log
	if g.parts.stores.Log.GetLog(index+1, &next) != nil {
		return 0, false, false
	}
	err := g.parts.stores.Log.GetLog(index, &last)
	return term, err == nil && last.Term == before && next.Term == term, true
}
