package router

import (
	"context"
	"errors"

	"lockstep/cluster"
	"lockstep/cluster/shard"
)

// readBytesMax is the length of replies after which the remaining calls are left for
// later.
const readBytesMax = 1 << 20

// read sends reads to the leader, or lets a replica answer them if they may be stale. It
// returns true if they are answered or left for later.
func (r *Router) read(at route, calls []*cluster.Call, done func(alone bool)) (answered bool) {
	replica := r.cfg.Replica(at.index)
	if !calls[0].Stale && replica != nil && r.leaders.of(at.index).Self {
		if calls = readNow(replica, calls); len(calls) == 0 {
			return true
		}
	}
	s := r.newSending(at, KindRead, calls, done)
	s.list = takeTxns(calls)
	s.txns, s.atLeast = *s.list, r.known(at.index)
	switch {
	case !calls[0].Stale:
		s.attempt()
	case r.mayReadOwn(at, replica, calls[0].Fresh):
		go s.readOwn(replica)
	default:
		s.askReplicas()
	}
	return false
}

// readNow answers the calls that this node, which leads, can answer without waiting. It
// returns the others. It returns none if the replies are so large that the others are
// left for later.
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
	// This is the deadline of one attempt: the router must stop waiting for a leader that
	// is cut off from the others, and ask the next one.
	if s.kind == KindIndex {
		ctx, cancel := context.WithDeadline(s.ctx, s.deadline)
		defer cancel()
		res.Replies, res.Err = indexReply(replica.ReadIndex(ctx))
	} else {
		res.Replies, res.Err = replica.Read(s.ctx, s.deadline, s.txns, 0)
	}
	res.Alone = true
	s.answered(number, res, false)
}

// readOwn reads on this node's own replica, whichever node leads.
func (s *sending) readOwn(replica Shard) {
	defer s.guard()
	replies, err := replica.ReadOwn(s.ctx, s.txns, s.router.heard(s.index))
	if err != nil {
		s.askReplicas()
		return
	}
	s.finish(replies, nil, true)
}

// askReplicas sends a stale read to some other replica. If the read must be fresh it goes
// to the leader, because this node does not know how old the other replicas are.
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

// completeReads gives reads their replies or their error.
func (s *sending) completeReads(replies []shard.Reply, err error, alone bool) {
	giveTxns(s.list)
	switch {
	case errors.Is(err, cluster.ErrMustLog):
		// This node runs an older release than the leader.
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

// known is the index up to which clients of this node may have seen changes, through its
// own replica or through those of other nodes.
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

// mayReadOwn reports whether a stale read may run on this node's own replica. A replica
// that is cut off from its leader may be behind changes that clients have seen through
// another node.
func (r *Router) mayReadOwn(at route, replica Shard, want *cluster.Freshness) bool {
	return replica != nil && replica.Votes() && (replica.Taken() >= r.heard(at.index) || r.ways.shut(at.index) == "") &&
		r.fresh.suffices(at.ctx, at.index, replica, want)
}
