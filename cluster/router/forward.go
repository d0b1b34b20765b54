package router

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/fsm"
)

// Kinds of requests between nodes.
const (
	// KindPropose: shard u32, patience uv, bundle. Answer: see appendResult. againBit is
	// set in the shard's number if the bundle may be in the log already. The patience is
	// how many milliseconds the gateway still waits. What cannot be done by then is
	// answered earlier.
	KindPropose uint8 = 1
	// KindRead: shard u32, patience uv, the index that must have been applied uv, a
	// bundle without identity. The answer is the same.
	KindRead uint8 = 2
	// KindStale is KindRead for any replica. Its answer may be old, but not older than
	// the index.
	KindStale uint8 = 6
	// KindIndex: shard u32. The answer is the same, with one reply: the index, uv.
	KindIndex uint8 = 7
)

// request is a bundle to be proposed, which is encoded, or txns to be read.
type request struct {
	index int
	kind  uint8
	// again is true if the bundle was proposed before and may be in the log.
	again  bool
	bundle []byte
	txns   []fsm.Txn
	n      int
	// atLeast is the index up to which this node had begun to run the log, or had
	// received changes, when the read was asked for. The leader may be behind it, and
	// must not answer from a state older than the one that clients of this node have
	// seen.
	atLeast uint64
	// deadline is when the gateway stops waiting.
	deadline time.Time
}

// offer is the bundle in the form that this node's own replica accepts.
func (req *request) offer() shard.Offer {
	return shard.Offer{Bundle: req.bundle, Txns: req.txns, Again: req.again, Until: req.deadline}
}

const (
	// onTheWay is how much earlier than the gateway's deadline the leader's deadline is,
	// so that the leader's answer arrives in time. If the time left is short, the
	// difference is one part in onTheWayShare of it.
	onTheWay      = 250 * time.Millisecond
	onTheWayShare = 4
	// patienceMax bounds the patience that a peer may ask for.
	patienceMax = time.Hour
)

// patienceMs is how long the leader may take for a request.
func (req *request) patienceMs() uint64 {
	left := max(time.Until(req.deadline), 0)
	return uint64((left - min(onTheWay, left/onTheWayShare)).Milliseconds())
}

// until reads the patience at the head of a request, and returns when the gateway stops
// waiting.
func until(body []byte) (deadline time.Time, rest []byte, ok bool) {
	ms, width := binary.Uvarint(body)
	if width <= 0 {
		return deadline, nil, false
	}
	return time.Now().Add(time.Duration(min(ms, uint64(patienceMax.Milliseconds()))) * time.Millisecond), body[width:], true
}

const againBit = 1 << 31

// hopBytesMax is the longest request or answer that goes to another node. It leaves room
// for the frame around it.
const hopBytesMax = transport.FrameBytesMax - 1<<10

// forward sends a request, encoded as payload, to the node at addr. A request to a leader
// goes by the way that is open now, and via says which that is; a request to a replica
// goes directly. answer is called once, from any goroutine.
func (r *Router) forward(addr string, req *request, payload []byte, answer func(shard.Result)) (via string) {
	if len(payload) > r.hopMax {
		// A retry, as after other requests that were not sent, would be in vain.
		answer(shard.Result{Err: cluster.ErrTooLarge})
		return ""
	}
	r.Counters.Forwarded.Add(1)
	n, fewer := req.n, req.kind != KindPropose
	taken := func(reply []byte, err error) { answer(resultOf(reply, err, n, fewer)) }
	if req.kind == KindStale {
		r.cfg.Peers.Go(addr, req.kind, payload, taken)
		return ""
	}
	return r.ways.send(req.index, addr, req.kind, payload, taken)
}

// encode returns the bytes of the request as sent to another node.
func (req *request) encode() []byte {
	index := uint32(req.index)
	if req.again {
		index |= againBit
	}
	payload := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(req.bundle)+64), index)
	switch req.kind {
	case KindIndex:
	case KindRead, KindStale:
		payload = binary.AppendUvarint(payload, req.patienceMs())
		payload = binary.AppendUvarint(payload, req.atLeast)
		payload = fsm.AppendBundle(payload, &fsm.Bundle{Txns: req.txns})
	default:
		payload = binary.AppendUvarint(payload, req.patienceMs())
		payload = append(payload, req.bundle...)
	}
	return payload
}

// resultOf decodes the answer to a request, or turns err into a result; see decodeResult.
func resultOf(reply []byte, err error, n int, fewer bool) shard.Result {
	switch {
	case errors.Is(err, transport.ErrNotSent):
		return shard.Result{Err: cluster.ErrNotLeader}
	case err != nil:
		return shard.Result{Err: cluster.ErrUnknown}
	}
	return decodeResult(reply, n, fewer)
}

// ServePropose handles a KindPropose request of a node, by its incarnation. It must be
// called in the order requests arrive, and does not block.
//
// A node may propose in its own name only, and only with numbers that a gateway gives
// out: a bundle in the log counts as sent by the gateway that it names.
func (v *Server) ServePropose(from uint64, payload []byte, reply func([]byte)) {
	replica, body := v.local(payload)
	if replica == nil {
		replyError(reply, cluster.ErrNotLeader)
		return
	}
	deadline, body, ok := until(body)
	b, err := fsm.DecodeBundle(body)
	if err != nil || !ok {
		replyError(reply, cluster.ErrTooLarge)
		return
	}
	if from == 0 {
		// This node has just been started, and has not learned yet who the gateway is.
		reply(NotReady())
		return
	}
	if b.Origin.Node != from || !b.NumbersFit() {
		v.refuse(reply)
		return
	}
	if len(b.Txns) == 0 || fsm.CheckCalls(b.Txns) != nil {
		replyError(reply, cluster.ErrNotKnown)
		return
	}
	bundle := append([]byte(nil), body...)
	again := binary.LittleEndian.Uint32(payload)&againBit != 0
	replica.Propose(shard.Offer{Bundle: bundle, Txns: b.Txns, Again: again, Until: deadline}, func(res shard.Result) {
		res.Replies = loseLong(res.Replies, v.router.hopMax)
		reply(appendResult(nil, res))
	})
}

// ServeRead handles a KindRead request; it may block.
func (v *Server) ServeRead(ctx context.Context, payload []byte, reply func([]byte)) {
	v.serveRead(payload, reply, func(replica Shard, deadline time.Time, txns []fsm.Txn, atLeast uint64) ([]shard.Reply, error) {
		return replica.Read(ctx, deadline, txns, atLeast)
	})
}

// ServeStale handles a KindStale request; it may block. A replica that is still catching
// up for the first time does not answer, because it has no complete state at all.
func (v *Server) ServeStale(ctx context.Context, payload []byte, reply func([]byte)) {
	v.serveRead(payload, reply, func(replica Shard, _ time.Time, txns []fsm.Txn, atLeast uint64) ([]shard.Reply, error) {
		if !replica.Votes() {
			return nil, cluster.ErrNotLeader
		}
		return replica.ReadOwn(ctx, txns, atLeast)
	})
}

func (v *Server) serveRead(payload []byte, reply func([]byte), read func(Shard, time.Time, []fsm.Txn, uint64) ([]shard.Reply, error)) {
	replica, body := v.local(payload)
	if replica == nil {
		replyError(reply, cluster.ErrNotLeader)
		return
	}
	deadline, body, ok := until(body)
	atLeast, width := binary.Uvarint(body)
	b, err := fsm.DecodeBundle(body[max(width, 0):])
	if err != nil || width <= 0 || !ok {
		replyError(reply, cluster.ErrTooLarge)
		return
	}
	switch err := fsm.CheckReads(b.Txns); {
	case errors.Is(err, fsm.ErrLogged):
		replyError(reply, cluster.ErrMustLog)
		return
	case err != nil:
		replyError(reply, cluster.ErrNotKnown)
		return
	}
	replies, err := read(replica, deadline, b.Txns, atLeast)
	reply(appendResult(nil, shard.Result{Err: err, Replies: fitting(replies, v.router.hopMax)}))
}

// errTooFar is the reply to a read whose reply is longer than an answer may be. Without
// an answer the gateway would count the request as lost, and ask again.
var errTooFar = []byte("-ERR the reply is longer than what goes from one node to another (96 MB): ask the node that leads the slot\r\n")

// fitting returns the replies at the front that fit in one answer of at most so many
// bytes. The gateway asks for the others later.
func fitting(replies []shard.Reply, most int) []shard.Reply {
	size := 0
	for i := range replies {
		r := &replies[i]
		if len(r.Bytes) > most {
			r.Bytes = errTooFar
		}
		if size += replyHeadBytes + len(r.Bytes); size > most && i > 0 {
			return replies[:i]
		}
	}
	return replies
}

// loseLong drops the longer replies to writes that do not fit in one answer of at most so
// many bytes. Writes that have run cannot be left for later, and without an answer all
// replies of the bundle would be lost.
func loseLong(replies []shard.Reply, most int) []shard.Reply {
	size := len(replies) * replyHeadBytes
	for i := range replies {
		if n := len(replies[i].Bytes); n <= shard.ReplyShortBytes {
			size += n
		}
	}
	for i := range replies {
		n := len(replies[i].Bytes)
		switch {
		case n <= shard.ReplyShortBytes:
		case n > most-size:
			replies[i] = shard.Reply{Outcome: fsm.OutcomeReplyLost}
		default:
			size += n
		}
	}
	return replies
}

// NotReady is the answer of a node that has not opened its replicas yet.
func NotReady() []byte { return appendResult(nil, shard.Result{Err: cluster.ErrNotLeader}) }

// wireErrors are the errors that have a number on the wire. 0 is no error.
var wireErrors = []error{
	nil, cluster.ErrUnknown, cluster.ErrNotLeader, cluster.ErrOverloaded,
	cluster.ErrTooLarge, cluster.ErrShuttingDown, cluster.ErrNoLeader, shard.ErrRenew, shard.ErrAtOnce,
	cluster.ErrOutOfMemory, cluster.ErrMustLog, cluster.ErrTooMuchAtOnce, cluster.ErrNotKnown, shard.ErrTurn, shard.ErrLeft,
	cluster.ErrBusy, cluster.ErrOverworked, cluster.ErrTakenBack, cluster.ErrKilled,
}

// wireError is the number of an error. An error without a number is sent as ErrUnknown.
func wireError(err error) byte {
	if err == nil {
		return 0
	}
	for i := 1; i < len(wireErrors); i++ {
		if errors.Is(err, wireErrors[i]) {
			return byte(i)
		}
	}
	return 1
}

// replyHeadBytes is the most bytes in front of a reply in a result.
const replyHeadBytes = 6

// appendResult encodes a result: error u8; per reply outcome u8, length uv, bytes. Behind
// ErrBusy follows what appendBusy writes.
func appendResult(dst []byte, res shard.Result) []byte {
	if res.Err != nil {
		dst = append(dst, wireError(res.Err))
		var busy *cluster.BusyError
		if errors.As(res.Err, &busy) && !busy.Logged {
			dst = appendBusy(dst, busy)
		}
		return dst
	}
	size := 1
	for i := range res.Replies {
		size += len(res.Replies[i].Bytes) + replyHeadBytes
	}
	if dst == nil {
		dst = make([]byte, 0, size)
	}
	dst = append(dst, 0)
	for i := range res.Replies {
		dst = append(dst, byte(res.Replies[i].Outcome))
		dst = binary.AppendUvarint(dst, uint64(len(res.Replies[i].Bytes)))
		dst = append(dst, res.Replies[i].Bytes...)
	}
	return dst
}

// decodeResult reads the output of appendResult, with n replies, or with one to n if
// fewer is true. The replies point into data.
func decodeResult(data []byte, n int, fewer bool) shard.Result {
	broken := shard.Result{Err: fmt.Errorf("%w: a peer's answer makes no sense", cluster.ErrUnknown)}
	if len(data) == 0 || int(data[0]) >= len(wireErrors) {
		return broken
	}
	if err := wireErrors[data[0]]; err != nil {
		if busy, ok := decodeBusy(data[1:]); ok && errors.Is(err, cluster.ErrBusy) {
			err = busy
		}
		return shard.Result{Err: err}
	}
	replies := make([]shard.Reply, n)
	rest := data[1:]
	for i := range replies {
		if len(rest) == 0 && fewer && i > 0 {
			return shard.Result{Replies: replies[:i]}
		}
		if len(rest) < 2 {
			return broken
		}
		size, used := binary.Uvarint(rest[1:])
		if used <= 0 || size > uint64(len(rest)-1-used) {
			return broken
		}
		end := 1 + used + int(size)
		replies[i] = shard.Reply{Outcome: fsm.Outcome(rest[0]), Bytes: rest[1+used : end : end]}
		rest = rest[end:]
	}
	return shard.Result{Replies: replies}
}
