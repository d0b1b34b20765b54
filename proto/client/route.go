package client

import (
	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/hashslot"
	"lockstep/engine/reply"
	"lockstep/fsm"
)

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
