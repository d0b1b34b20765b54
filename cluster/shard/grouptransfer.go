package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// errNotCaughtUp ends a transfer to a server that has not acknowledged the log's end
// within an election timeout.
var errNotCaughtUp = errors.New("the one that is to lead has not caught up")

// errShort ends a transfer while too few voters are in the group. The next leader would
// accept writes, because it does not know how many voters are awaited.
var errShort = errors.New("too few of the nodes that are awaited vote yet")

// Handover is an owner's work during a transfer of the leadership.
type Handover interface {
	// Hand is called when no entries are accepted any more and the next leader has the
	// whole log, up to its index last in a term.
	Hand(to raft.ServerAddress, term, last uint64)
	// End is called when the transfer is over, whichever node leads.
	End()
}

// TransferTo gives the leadership to a server, or, if id is empty, to the most advanced
// one. From the order to lead on, the lease is off for the rest of the term (package
// raftio, transfer.go): the new leader is elected in spite of the followers' promise.
//
// The library would also bring that server up to date first. But it waits for the
// goroutine that sends the log there, even if that goroutine has ended with the
// leadership, or stays busy for long with a server that does not answer. Until then the
// library accepts no entries, not even in later terms of this node. So the group asks the
// library only after the server has acknowledged the whole log, and accepts no entries at
// the end of that wait.
func (g *Group) TransferTo(ctx context.Context, id raft.ServerID) error {
	return within(ctx, func() error { return g.transfer.give(id) })
}

// transfer gives the leadership of a group away.
type transfer struct {
	group *Group
	mu    sync.Mutex // held while a transfer is under way
}

func (t *transfer) give(id raft.ServerID) error {
	if !t.mu.TryLock() {
		return raft.ErrLeadershipTransferInProgress
	}
	defer t.mu.Unlock()
	g := t.group
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
		id = t.furthest(term)
	}
	addr, votes := g.latest.voterAt(id)
	if !votes {
		return fmt.Errorf("%s is no voter of group %d", id, g.cfg.ID)
	}
	// A long entry may take a while to reach that server, and new ones are accepted
	// meanwhile.
	now := r.LastIndex()
	if err := t.awaitCaughtUp(r, term, id, func() uint64 { return now }); err != nil {
		return err
	}
	var handover Handover
	if g.cfg.HandOver != nil {
		handover = g.cfg.HandOver()
		defer handover.End()
	}
	g.proposals.refuse(true)
	defer g.proposals.refuse(false)
	if err := t.awaitCaughtUp(r, term, id, r.LastIndex); err != nil {
		return err
	}
	if handover != nil {
		handover.Hand(addr, term, r.LastIndex())
	}
	return awaitFuture(r.LeadershipTransferToServer(id, addr), p.stop)
}

// awaitFuture waits for the library's answer, or for the end of its Raft: at its end the
// library leaves an order to transfer that is in its queue without an answer.
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

// furthest is the other voter that has acknowledged most of the log. Of several, it is
// the one that was heard last.
func (t *transfer) furthest(term uint64) (best raft.ServerID) {
	g := t.group
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

// awaitCaughtUp waits until a server has acknowledged the log up to an index, but no
// longer than an election takes.
func (t *transfer) awaitCaughtUp(r *raft.Raft, term uint64, id raft.ServerID, upTo func() uint64) error {
	g := t.group
	if id == g.cfg.LocalID {
		return nil // the library reports what is wrong
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

// beginsBehind reports whether the term that this node leads starts right after the entry
// at index, which has the term before. known is false if that cannot be said yet.
func (t *transfer) beginsBehind(before, index uint64) (term uint64, yes, known bool) {
	g := t.group
	term, leads := g.Leadership()
	// The caller may delay shutdown, which holds the lock.
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
