package client

import (
	"fmt"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/hashslot"
	"lockstep/engine/reply"
	"lockstep/fsm"
)

// moved is the error that sends a cluster client to the node which leads the
// shard of these hash slots; "" when this one does, or nobody.
func (c *Client) moved(slots []uint16) string {
	for _, s := range slots[1:] {
		if s != slots[0] {
			return "CROSSSLOT Keys in request don't hash to the same slot"
		}
	}
	if addr := c.backend.Moved(int(slots[0])); addr != "" {
		return fmt.Sprintf("MOVED %d %s", slots[0], addr)
	}
	return ""
}

// addSlots adds the hash slots of a command's keys to a call, each once where
// they follow each other.
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
	spec, _ := command.Lookup(args)
	addSlots(call, spec, args)
	return call
}
