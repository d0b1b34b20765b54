package router

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
)

// The second hop: a gateway that is cut off from a leader asks another node to pass a request on
// (relay.go says when).
//
// A leader accepts writes and waits from a gateway only in that gateway's own name. A request that
// was passed on comes over the connection of another node, and the leader believes what that node
// says about the gateway's name. That node takes the name from its own connection to the gateway,
// never from the request. So a member that lies can use the names of other members here. That gains
// it little: members are trusted with the log itself, and a gateway whose numbers were used by
// another node takes new ones (lanes.go).

const (
	// KindRelay asks a node to pass a request on to the leader of its shard: eight bytes of 0, the
	// kind of the request u8, the request. The answer is the leader's, or has the same form and
	// says ErrNotLeader if the request has reached no leader, or ErrUnknown if it may have.
	KindRelay uint8 = 11
	// KindRelayed is what that node sends to the leader: the same, with the incarnation of the
	// gateway, u64, in place of the zeros. The node that gets it answers it itself or not at all:
	// no request goes a third hop.
	KindRelayed uint8 = 12
)

const (
	// relayHeadBytes is the length of the head in front of the request.
	relayHeadBytes = 8 + 1
	// passingMax bounds the requests of other nodes that this one passes on at a time.
	// passingWaitsMax bounds the blocking commands among them.
	passingMax      = 1 << 12
	passingWaitsMax = passingMax / 2
	// passMax bounds how long a blocking command, which its gateway renews, or a request
	// that names no time waits here for the leader's answer. passLongest bounds the time
	// that a request may name.
	passMax     = 5 * time.Second
	passLongest = time.Minute
)

// relayRequest is a KindRelay request.
func relayRequest(kind uint8, request []byte) []byte {
	payload := make([]byte, relayHeadBytes, relayHeadBytes+len(request))
	payload[relayHeadBytes-1] = kind
	return append(payload, request...)
}

// relayed is a request that was passed on, or is to be.
type relayed struct {
	gateway uint64
	kind    uint8
	index   int
	request []byte
}

// readRelay reads a KindRelay or KindRelayed request.
func (v *Server) readRelay(payload []byte) (q relayed, ok bool) {
	if len(payload) < relayHeadBytes || len(payload) > v.router.hopMax+relayHeadBytes {
		return q, false
	}
	q = relayed{gateway: binary.LittleEndian.Uint64(payload), kind: payload[relayHeadBytes-1], request: payload[relayHeadBytes:]}
	switch q.kind {
	case KindPropose, KindRead, KindIndex, KindWait, KindTakeBack:
	default:
		return q, false
	}
	q.index, _, ok = v.shardNumber(q.request)
	return q, ok
}

// lasts is how long the request may wait for its answer.
func (q *relayed) lasts() time.Duration {
	if q.kind != KindPropose && q.kind != KindRead {
		return passMax
	}
	deadline, _, ok := until(q.request[4:])
	if !ok {
		return passMax
	}
	return min(time.Until(deadline)+onTheWay, passLongest)
}

// ServeRelay handles a KindRelay request of a node, by its incarnation. road is the
// connection by which it came. ServeRelay passes the request on once, in the name of that
// node. It may block.
func (v *Server) ServeRelay(ctx context.Context, from uint64, road shard.Road, payload []byte, reply func([]byte)) {
	if from == 0 {
		// This node has just been started, and has not learned yet who the gateway is.
		reply(NotReady())
		return
	}
	q, ok := v.readRelay(payload)
	if !ok || q.gateway != 0 {
		v.refuse(reply)
		return
	}
	q.gateway = from
	leader := v.router.Leader(q.index)
	if leader.Self {
		v.serveRelayed(ctx, q, road, reply)
		return
	}
	answer := func(err error) { replyError(reply, err) }
	if leader.Addr == "" {
		answer(cluster.ErrNotLeader)
		return
	}
	leave, ok := v.countPassing(q.kind)
	if !ok {
		answer(cluster.ErrOverloaded)
		return
	}
	v.router.Counters.PassedOn.Add(1)
	binary.LittleEndian.PutUint64(payload, from)
	var ended atomic.Bool
	end := func(say func()) {
		if ended.CompareAndSwap(false, true) {
			leave()
			say()
		}
	}
	late := time.AfterFunc(q.lasts(), func() { end(func() { answer(cluster.ErrUnknown) }) })
	v.router.cfg.Peers.Go(leader.Addr, KindRelayed, payload, func(said []byte, err error) {
		late.Stop()
		end(func() {
			switch {
			case errors.Is(err, transport.ErrNotSent):
				answer(cluster.ErrNotLeader)
			case err != nil:
				answer(cluster.ErrUnknown)
			default:
				reply(said)
			}
		})
	})
}

// countPassing counts a request that is passed on, until leave. It returns false if there
// are too many.
func (v *Server) countPassing(kind uint8) (leave func(), ok bool) {
	waits := int64(0)
	if kind == KindWait {
		waits = 1
	}
	leave = func() {
		v.passing.Add(-1)
		v.passingWaits.Add(-waits)
	}
	if all, w := v.passing.Add(1), v.passingWaits.Add(waits); all > passingMax || w > passingWaitsMax {
		leave()
		return nil, false
	}
	return leave, true
}

// ServeRelayed handles a KindRelayed request: a request of a gateway that came through
// another node. That node vouches for the gateway's name. road is the connection from
// that node. ServeRelayed may block.
func (v *Server) ServeRelayed(ctx context.Context, road shard.Road, payload []byte, reply func([]byte)) {
	q, ok := v.readRelay(payload)
	if ok && q.gateway == v.router.cfg.Node {
		// This node is the gateway, and by now it leads the shard.
		reply(NotReady())
		return
	}
	if !ok || q.gateway == 0 {
		v.refuse(reply)
		return
	}
	if v.router.cfg.Member != nil && !v.router.cfg.Member(q.gateway) {
		// A node that has just been started does not know the members yet.
		reply(NotReady())
		return
	}
	v.serveRelayed(ctx, q, &longRoad{road, time.Now()}, reply)
}

// serveRelayed answers a request of a gateway as if it had come directly.
func (v *Server) serveRelayed(ctx context.Context, q relayed, road shard.Road, reply func([]byte)) {
	switch q.kind {
	case KindPropose:
		v.ServePropose(q.gateway, q.request, reply)
	case KindRead:
		v.ServeRead(ctx, q.request, reply)
	case KindIndex:
		v.ServeIndex(ctx, q.request, reply)
	case KindWait:
		v.ServeWait(q.gateway, road, q.request, reply)
	case KindTakeBack:
		v.ServeTakeBack(q.gateway, q.request, reply)
	}
}

// longRoad is the way to a gateway through another node, for one request.
type longRoad struct {
	shard.Road
	began time.Time
}

// SilentFor implements shard.Road. This node cannot hear the gateway behind the other node.
// The way counts as open while the other node keeps the request, and the gateway asks
// again by then.
func (l *longRoad) SilentFor() time.Duration {
	if l.Road == nil || time.Since(l.began) > passMax {
		return math.MaxInt64
	}
	return l.Road.SilentFor()
}
