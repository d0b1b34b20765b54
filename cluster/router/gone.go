package router

import (
	"encoding/binary"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// KindTakeBack asks a shard's leader to take a bundle back that waits before the log: shard u32,
// then the first bytes of the bundle, which are its identity. Answer: one byte, 0.
const KindTakeBack uint8 = 9

const (
	// goneAfter is from when on who made a call is looked after: who sends commands and closes
	// the connection at once wants them to run.
	goneAfter = 200 * time.Millisecond
	// goneEvery is how often that is, and bundleHeadMax how long the identity of a bundle is at
	// most.
	goneEvery     = 200 * time.Millisecond
	bundleHeadMax = 8 + 8 + 4 + binary.MaxVarintLen64
)

// leaverOf is who made the calls, if one of them may take long.
func leaverOf(calls []*cluster.Call) cluster.Leaver {
	for _, c := range calls {
		if c.From != nil {
			return c.From
		}
	}
	return nil
}

// elapsed is for how long calls have been under way that have this deadline.
func (r *Router) elapsed(deadline time.Time) time.Duration {
	return time.Duration(r.cfg.TimeoutMs())*time.Millisecond - time.Until(deadline)
}

// clientGone tells whether the client has gone that made a bundle which may take long. It looks now
// and then.
func (s *sending) clientGone() bool {
	if s.client == nil || s.router.elapsed(s.deadline) < goneAfter || time.Since(s.lookedAt) < goneEvery {
		return false
	}
	s.lookedAt = time.Now()
	return s.client.Gone()
}

// takeBack has the leader take a bundle back whose client has gone, if it still waits before the
// log. What became of it is the answer that is waited for already.
func (s *sending) takeBack(leader shard.Leader) {
	r := s.router
	if leader.Self {
		if replica := r.cfg.Replica(s.index); replica != nil {
			takeBack(replica, r.cfg.Node, s.req.bundle)
		}
		return
	}
	payload := binary.LittleEndian.AppendUint32(nil, uint32(s.index))
	payload = append(payload, s.req.bundle[:min(len(s.req.bundle), bundleHeadMax)]...)
	r.ways.send(s.index, leader.Addr, KindTakeBack, payload, func([]byte, error) {})
}

// takeBack takes a bundle of a node's back, by what its bytes begin with.
func takeBack(replica Shard, node uint64, bundle []byte) {
	if id, ok := fsm.BundleID(bundle); ok && id.Node == node {
		replica.TakeBack(id)
	}
}

// ServeTakeBack handles a KindTakeBack request of a node, by its incarnation. It does not block.
func (r *Router) ServeTakeBack(from uint64, payload []byte, reply func([]byte)) {
	if replica, head := r.local(payload); replica != nil {
		takeBack(replica, from, head)
	}
	reply([]byte{0})
}
