package router

import (
	"encoding/binary"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// KindTakeBack asks a shard's leader to drop a bundle that waits in front of the log:
// shard u32, then the first bytes of the bundle, which are its identity. Answer: one
// byte, 0.
const KindTakeBack uint8 = 9

const (
	// goneAfter is how old a call must be before the router checks whether its client has
	// gone: a client that sends commands and closes the connection at once wants them to
	// run.
	goneAfter = 200 * time.Millisecond
	// goneEvery is the time between two such checks, and bundleHeadMax the greatest
	// length of a bundle's identity.
	goneEvery     = 200 * time.Millisecond
	bundleHeadMax = 8 + 8 + 4 + binary.MaxVarintLen64
)

// leaverOf is the client that made the calls, if one of the calls may take long.
func leaverOf(calls []*cluster.Call) cluster.Leaver {
	for _, c := range calls {
		if c.From != nil {
			return c.From
		}
	}
	return nil
}

// elapsed is how long calls with this deadline have been under way.
func (r *Router) elapsed(deadline time.Time) time.Duration {
	return time.Duration(r.cfg.TimeoutMs())*time.Millisecond - time.Until(deadline)
}

// clientGone reports whether the client of a bundle that may take long has gone. It
// checks only now and then.
func (s *sending) clientGone() bool {
	if s.client == nil || s.router.elapsed(s.deadline) < goneAfter || time.Since(s.lookedAt) < goneEvery {
		return false
	}
	s.lookedAt = time.Now()
	return s.client.Gone()
}

// takeBack asks the leader to drop a bundle whose client has gone, if the bundle still
// waits in front of the log. The answer to the bundle itself, which is awaited already,
// says what became of it.
func (s *sending) takeBack(leader shard.Leader) {
	r := s.router
	if leader.Self {
		if replica := r.cfg.Replica(s.index); replica != nil {
			takeBack(replica, r.cfg.Node, s.bundle)
		}
		return
	}
	payload := binary.LittleEndian.AppendUint32(nil, uint32(s.index))
	payload = append(payload, s.bundle[:min(len(s.bundle), bundleHeadMax)]...)
	r.ways.send(s.index, leader.Addr, KindTakeBack, payload, func([]byte, error) {})
}

// takeBack drops a bundle of a node. bundle begins with the identity.
func takeBack(replica Shard, node uint64, bundle []byte) {
	if id, ok := fsm.BundleID(bundle); ok && id.Node == node {
		replica.TakeBack(id)
	}
}

// ServeTakeBack handles a KindTakeBack request of a node, by its incarnation. It does not block.
func (v *Server) ServeTakeBack(from uint64, payload []byte, reply func([]byte)) {
	if replica, head := v.local(payload); replica != nil {
		takeBack(replica, from, head)
	}
	reply([]byte{0})
}
