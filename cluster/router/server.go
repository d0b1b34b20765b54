package router

import (
	"encoding/binary"
	"sync/atomic"

	"lockstep/cluster"
	"lockstep/cluster/shard"
)

// Server answers the requests that other nodes send to this one. Its methods stand beside
// the kinds of requests that they handle.
type Server struct {
	router *Router
	// passing is how many requests of other nodes this one is passing on now, and
	// passingWaits how many of them are blocking commands (relayserve.go).
	passing, passingWaits atomic.Int64
}

// Server answers requests of other nodes.
func (r *Router) Server() *Server { return &r.server }

// local is this node's replica of the shard that a request names, or nil if there is none. It
// also returns the rest of the request.
func (v *Server) local(payload []byte) (Shard, []byte) {
	index, body, ok := v.shardNumber(payload)
	if !ok {
		return nil, nil
	}
	return v.router.cfg.Replica(index), body
}

// shardNumber reads the shard at the head of a request.
func (v *Server) shardNumber(payload []byte) (index int, body []byte, ok bool) {
	if len(payload) < 4 {
		return 0, nil, false
	}
	n := binary.LittleEndian.Uint32(payload) &^ againBit
	return int(n), payload[4:], n < uint32(len(v.router.lanes))
}

// refuse answers a request that is malformed or not allowed.
func (v *Server) refuse(reply func([]byte)) {
	v.router.Counters.Refused.Add(1)
	replyError(reply, cluster.ErrNotKnown)
}

// replyError answers a request with an error.
func replyError(reply func([]byte), err error) { reply(appendResult(nil, shard.Result{Err: err})) }
