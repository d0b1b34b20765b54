package client

import (
	"context"
	"fmt"

	"lockstep/cluster"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

// environment is what the parts of a client share: the node, the connection, and the settings of the current batch.
type environment struct {
	backend  *Backend
	registry *Registry
	stats    *stats.Stats
	conn     *resp.Guard
	ctx      context.Context
	settings *Settings
	// shared is the part of the client that other goroutines see.
	shared Connection
}

// moved is the error that sends a cluster client to the leader of the shard of
// these hash slots. It is "" if this node leads, if no node does, or if clients
// need not go there themselves. If the slots belong to several shards the error
// says so, because no single node serves them. For a stale read any node with a
// replica will do.
func (e *environment) moved(slots []uint16, stale bool) string {
	if !e.settings.Redirect || len(slots) == 0 {
		return ""
	}
	shard := e.backend.ShardOfSlot(slots[0])
	for _, s := range slots[1:] {
		if e.backend.ShardOfSlot(s) != shard {
			return resp.ErrorText(cluster.ErrCrossSlot)
		}
	}
	if addr := e.backend.Redirector.Moved(shard, stale, e.conn.Secured()); addr != "" {
		return fmt.Sprintf("MOVED %d %s", slots[0], addr)
	}
	return ""
}

// runAll runs all calls, including those that the shards leave for later.
func (e *environment) runAll(calls []*cluster.Call) {
	for len(calls) > 0 {
		e.backend.Do(e.ctx, calls)
		var rest []*cluster.Call
		for _, call := range calls {
			if !call.Answered() {
				rest = append(rest, call)
			}
		}
		calls = rest
	}
}

// whileConnected returns a context that ends when the client disconnects or the node stops, and a function that ends
// it with a cause. The caller calls stop in the end.
func (e *environment) whileConnected() (ctx context.Context, end context.CancelCauseFunc, stop func()) {
	ctx, end = context.WithCancelCause(e.ctx)
	lost, unwatch := e.conn.Watch()
	go func() {
		select {
		case <-lost:
			end(errConnectionEnd)
		case <-ctx.Done():
		}
	}()
	return ctx, end, func() {
		unwatch()
		end(nil)
	}
}

// mayDebug reports whether the client may use DEBUG.
func (e *environment) mayDebug() bool {
	switch e.settings.DebugFor {
	case "yes":
		return true
	case "local":
		return isLoopback(e.conn.RemoteAddr())
	}
	return false
}
