package client

import (
	"context"

	"lockstep/cluster"
	"lockstep/engine/commands"
	"lockstep/engine/reply"
	"lockstep/fsm"
)

// internalCall makes a call of an internal command that reads.
func internalCall(db int, args ...[]byte) *cluster.Call {
	call := &cluster.Call{Txn: fsm.Txn{Proto: reply.RESP2, Ops: []fsm.Op{{DB: db, Args: args}}}, ReadOnly: true}
	spec, _ := commands.Lookup(args)
	addSlots(call, spec, args)
	return call
}

// one runs a single call of the client's own and returns its reply.
func (c *Client) one(call *cluster.Call) []byte { return c.oneWithin(c.ctx, call) }

// oneWithin is one with a limit: ctx.
func (c *Client) oneWithin(ctx context.Context, call *cluster.Call) []byte {
	c.backend.Do(ctx, []*cluster.Call{call})
	return c.out.replyOf(call)
}
