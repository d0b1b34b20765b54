package router

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/fsm"
)

// Kinds of requests between nodes.
const (
	// KindPropose: shard u32, bundle. Answer: see appendResult.
	KindPropose uint8 = 1
	// KindRead: shard u32, bundle without identity. The same answer.
	KindRead uint8 = 2
)

// request is a bundle on its way: encoded to be proposed, or txns to be read.
type request struct {
	index  int
	kind   uint8
	bundle []byte
	txns   []fsm.Txn
	n      int
}

// forward sends a request to the leader at addr, one hop.
func (r *Router) forward(addr string, req *request, answer chan<- shard.Result) {
	payload := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(req.bundle)+64), uint32(req.index))
	if req.kind == KindRead {
		payload = fsm.AppendBundle(payload, &fsm.Bundle{Txns: req.txns})
	} else {
		payload = append(payload, req.bundle...)
	}
	r.cfg.Peers.Go(addr, req.kind, payload, func(reply []byte, err error) {
		switch {
		case errors.Is(err, transport.ErrNotSent):
			answer <- shard.Result{Err: cluster.ErrNotLeader}
		case err != nil:
			answer <- shard.Result{Err: cluster.ErrUnknown}
		default:
			answer <- decodeResult(reply, req.n, req.kind == KindRead)
		}
	})
}

// ServePropose handles a KindPropose request. It must be called in the order
// requests arrive, and does not block.
func (r *Router) ServePropose(payload []byte, reply func([]byte)) {
	replica, body := r.local(payload)
	if replica == nil {
		reply(appendResult(nil, shard.Result{Err: cluster.ErrNotLeader}))
		return
	}
	b, err := fsm.DecodeBundle(body)
	if err != nil {
		reply(appendResult(nil, shard.Result{Err: cluster.ErrTooLarge}))
		return
	}
	bundle := append([]byte(nil), body...)
	replica.Propose(bundle, len(b.Txns), func(res shard.Result) { reply(appendResult(nil, res)) })
}

// ServeRead handles a KindRead request; it may block.
func (r *Router) ServeRead(ctx context.Context, payload []byte, reply func([]byte)) {
	replica, body := r.local(payload)
	if replica == nil {
		reply(appendResult(nil, shard.Result{Err: cluster.ErrNotLeader}))
		return
	}
	b, err := fsm.DecodeBundle(body)
	if err != nil {
		reply(appendResult(nil, shard.Result{Err: cluster.ErrTooLarge}))
		return
	}
	replies, err := replica.Read(ctx, b.Txns)
	reply(appendResult(nil, shard.Result{Err: err, Replies: replies}))
}

func (r *Router) local(payload []byte) (Shard, []byte) {
	if len(payload) < 4 {
		return nil, nil
	}
	index := binary.LittleEndian.Uint32(payload)
	if index >= uint32(len(r.lanes)) {
		return nil, nil
	}
	return r.cfg.Replica(int(index)), payload[4:]
}

// NotReady is the answer of a node that has not opened its replicas yet.
func NotReady() []byte { return appendResult(nil, shard.Result{Err: cluster.ErrNotLeader}) }

// wireErrors are the errors that travel, by number; 0 is none.
var wireErrors = []error{
	nil, cluster.ErrUnknown, cluster.ErrNotLeader, cluster.ErrOverloaded,
	cluster.ErrTooLarge, cluster.ErrShuttingDown, cluster.ErrNoLeader,
}

// appendResult encodes a result: error u8; per reply outcome u8, length uv,
// bytes.
func appendResult(dst []byte, res shard.Result) []byte {
	code := 0
	if res.Err != nil {
		code = 1
		for i := 1; i < len(wireErrors); i++ {
			if errors.Is(res.Err, wireErrors[i]) {
				code = i
			}
		}
		return append(dst, byte(code))
	}
	size := 1
	for i := range res.Replies {
		size += len(res.Replies[i].Bytes) + 6
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

// decodeResult reads what appendResult wrote, of n replies, or with fewer of one
// to n. The replies point into data.
func decodeResult(data []byte, n int, fewer bool) shard.Result {
	broken := shard.Result{Err: fmt.Errorf("%w: a peer's answer makes no sense", cluster.ErrUnknown)}
	if len(data) == 0 || int(data[0]) >= len(wireErrors) {
		return broken
	}
	if err := wireErrors[data[0]]; err != nil {
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
