package client

import (
	"fmt"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/hashslot"
	"lockstep/engine/reply"
	"lockstep/fsm"
	"lockstep/proto/resp"
)

// moved is the error that sends a cluster client to the leader of the shard of
// these hash slots. It is "" if this node leads, if no node does, or if clients
// need not go there themselves. If the slots belong to several shards the error
// says so, because no single node serves them.
func (c *Client) moved(slots []uint16) string { return c.movedFor(slots, false) }

// movedFor is moved. For a stale read any node with a replica will do.
func (c *Client) movedFor(slots []uint16, stale bool) string {
	if !c.settings.Redirect || len(slots) == 0 {
		return ""
	}
	shard := c.backend.ShardOfSlot(slots[0])
	for _, s := range slots[1:] {
		if c.backend.ShardOfSlot(s) != shard {
			return resp.ErrorText(cluster.ErrCrossSlot)
		}
	}
	if addr := c.backend.Redirector.Moved(shard, stale, c.conn.Secured()); addr != "" {
		return fmt.Sprintf("MOVED %d %s", slots[0], addr)
	}
	return ""
}

// addSlots adds the hash slots of a command's keys to a call, leaving out direct
// repetitions.
func addSlots(call *cluster.Call, spec *command.Spec, args [][]byte) {
	var buf [8]command.KeyRef
	for _, k := range spec.AppendKeys(buf[:0], args) {
		slot := hashslot.Of(args[k.Pos])
		switch {
		case len(call.Slots) == 0:
			call.SetSlot(slot)
		case call.Slots[len(call.Slots)-1] != uint16(slot):
			call.Slots = append(call.Slots, uint16(slot))
		}
	}
}

// internal makes a call of an internal command that reads.
func (c *Client) internal(args ...[]byte) *cluster.Call {
	call := &cluster.Call{Txn: fsm.Txn{Proto: reply.RESP2, Ops: []fsm.Op{{DB: c.db, Args: args}}}, ReadOnly: true}
	spec, _ := commands.Lookup(args)
	addSlots(call, spec, args)
	return call
}
