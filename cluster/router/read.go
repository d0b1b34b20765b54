package router

import (
	"context"
	"errors"

	"lockstep/cluster"
	"lockstep/cluster/shard"
)

// readBytesMax is the length of replies that are read at once; the calls behind them are left for
// later.
const readBytesMax = 1 << 20

// read sends reads to the leader, or has a replica answer them when they may be stale; true: they
// are answered, or left for later.
func (r *Router) read(at route, calls []*cluster.Call, done func(alone bool)) (answered bool) {
	replica := r.cfg.Replica(at.index)
	if !calls[0].Stale && replica != nil && r.leaders.of(at.index).Self {
		if calls = readNow(replica, calls); len(calls) == 0 {
			return true
		}
	}
	s := r.newSending(at, KindRead, calls, done)
	s.txns = takeTxns(calls)
	s.req.txns, s.req.atLeast = *s.txns, r.known(at.index)
	switch {
	case !calls[0].Stale:
		s.attempt()
	case replica != nil && replica.Votes() && r.hears(at.index, replica) && r.freshEnough(at.ctx, at.index, replica, calls[0].Fresh):
		go s.readOwn(replica)
	default:
		s.askReplicas()
	}
	return false
}

// readNow answers those of the calls that this node, which leads, can answer without waiting. It
// returns the others, or none where the replies are so large that they are left for later.
func readNow(replica Shard, calls []*cluster.Call) []*cluster.Call {
	txns := takeTxns(calls)
	defer giveTxns(txns)
	size := 0
	for n := 0; n < len(calls) && size <= readBytesMax; {
		replies := replica.ReadNow((*txns)[n:], 0)
		if len(replies) == 0 {
			return calls[n:]
		}
		fill(calls[n:], replies)
		n += len(replies)
		for i := range replies {
			size += len(replies[i].Bytes)
		}
	}
	return nil
}

// readHere makes an attempt on this node's own replica, which leads, and waits for it.
func (s *sending) readHere(replica Shard, number int) {
	defer s.caught(number)
	var res shard.Result
	// The deadline is that of an attempt: a leader cut off from the others must be given up for the
	// next one.
	if s.req.kind == KindIndex {
		ctx, cancel := context.WithDeadline(s.ctx, s.deadline)
		defer cancel()
		res.Replies, res.Err = indexReply(replica.ReadIndex(ctx))
	} else {
		res.Replies, res.Err = replica.Read(s.ctx, s.deadline, s.req.txns, 0)
	}
	res.Alone = true
	s.answered(number, res)
}

// readOwn reads on this node's own replica, whoever leads.
func (s *sending) readOwn(replica Shard) {
	defer s.guard()
	replies, err := replica.ReadOwn(s.ctx, s.req.txns, s.router.heard(s.index))
	if err != nil {
		s.askReplicas()
		return
	}
	s.finish(replies, nil, true)
}

// askReplicas has a stale read answered by some other replica, or by the leader where it must be
// fresh: of the other replicas nobody here knows how old they are.
func (s *sending) askReplicas() {
	r, want := s.router, s.calls[0].Fresh
	if want == nil || want.MaxAge <= 0 && want.Floors[s.index] == 0 {
		addrs := r.cfg.Replicas(s.index)
		turn := int(r.turns.Add(1) % (1 << 16))
		for i := range addrs {
			s.others = append(s.others, addrs[(turn+i)%len(addrs)])
		}
	}
	s.attempt()
}

// completeReads gives reads what became of them.
func (s *sending) completeReads(replies []shard.Reply, err error, alone bool) {
	giveTxns(s.txns)
	switch {
	case errors.Is(err, cluster.ErrMustLog):
		// This node's programs are older than the leader's.
		s.resend(s.calls, false, s.done)
		return
	case errors.Is(err, cluster.ErrUnknown), errors.Is(err, cluster.ErrNoAnswer):
		s.explainRead()
		return
	case err != nil:
		failAll(s.calls, err)
	default:
		fill(s.calls, replies)
	}
	s.complete(alone)
}

// known is the index up to which clients of this node may have been told of
// changes, by its own replica or by others'.
func (r *Router) known(index int) uint64 {
	known := r.heard(index)
	if replica := r.cfg.Replica(index); replica != nil {
		known = max(known, replica.Queued())
	}
	return known
}

func (r *Router) heard(index int) uint64 {
	if r.cfg.Heard == nil {
		return 0
	}
	return r.cfg.Heard(index)
}

// hears tells whether a replica of this node may soon know what clients have been told of: one
// that is cut off from its leader does not, where another node tells them.
func (r *Router) hears(index int, replica Shard) bool {
	return replica.Taken() >= r.heard(index) || r.ways.shut(index) == ""
}
