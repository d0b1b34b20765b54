package client

import (
	"slices"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/hashslot"
	"lockstep/fsm"
)

// batchAll walks through a batch: it runs commands in place and collects calls. rows are the
// commands' rows, or nil if they have not been looked up yet. It returns false if the client may
// not go on.
func (c *Client) batchAll(batch [][][]byte, rows []*command.Spec) bool {
	c.settings = c.backend.Settings()
	if !c.renew() {
		return false
	}
	c.calls.reserve(len(batch))
	c.listener.hold()
	for i, args := range batch {
		if i > 0 && c.calls.empty() && (c.shared.killed.Load() || !c.renew()) {
			// The command before may have waited for long, and meanwhile the user was deleted or
			// the client was killed.
			c.out.closing = true
			break
		}
		var row *command.Spec
		if rows != nil {
			row = rows[i]
		}
		c.command(args, row)
		if c.out.closing {
			break
		}
		if c.out.Len() > flushBytes && c.calls.empty() || c.out.Len() > repliesBytes && !c.out.noWait {
			// The collected calls are not worth keeping this much output in memory.
			c.calls.run()
			c.out.write()
			c.out.awaitRoom()
		}
	}
	return true
}

// command answers, collects or queues one command.
func (c *Client) command(args [][]byte, row *command.Spec) {
	if c.out.mode == replySkipNext {
		c.out.mode = replySkip
	}
	spec := c.dispatch(args, row)
	c.forgetCaching(spec)
	if c.out.mode == replySkip {
		c.out.mode = replyOn
	}
}

// dispatch returns the command's row, or nil if it has none. It looks the row up if row is nil.
func (c *Client) dispatch(args [][]byte, row *command.Spec) *command.Spec {
	spec, container := row, (*command.Spec)(nil)
	if row == nil {
		spec, container = commands.Lookup(args)
	}
	c.last = spec
	refusal := c.refusal(spec, container, args)
	switch {
	case refusal != "":
		c.reject(spec, refusal)
	case spec != nil && !c.pass(spec, args):
		// A pause held the command back, and it may not run any more.
	case spec == nil:
		// The client speaks HTTP and is cut off, as in Redis.
	case c.tx.open && !runsInMulti(spec):
		c.enqueue(spec, args)
	case spec.Has(command.RunsQueue):
		c.exec(args[0])
	case spec.Flags&command.Blocking != 0 && c.blocks(spec, args):
	case spec.Has(command.Publishes):
		c.batchPublish(spec, args)
	case spec.Scope == command.ScopeNode:
		c.runNode(spec, args)
	case spec.Merge != command.MergeNone && c.backend.Shards() > 1:
		c.runEverywhere(spec, args)
	default:
		c.batch(spec, args)
	}
	return spec
}

// batch adds a data command to the calls that will run together.
func (c *Client) batch(spec *command.Spec, args [][]byte) {
	s := c.calls.add(spec)
	c.calls.data = true
	s.op[0] = opOf(c.db, args, spec)
	call := &s.call
	call.Txn = fsm.Txn{Proto: uint8(c.out.Proto), NoTouch: c.noTouch, Ops: s.op[:]}
	c.carry(&call.Txn, c.user, spec)
	call.ReadOnly = !c.backend.mustLog(spec, args)
	c.mayBeStale(call)
	call.Client = c.author()
	addSlots(call, spec, args)
	c.calls.letGiveUp(call)
	if !c.calls.redirect(call) {
		c.used(call)
		c.remember(spec, args)
		c.records.show(spec, args, c.db)
	}
}

// batchPublish sends a message after the data commands before it have run. The
// number of receivers is awaited together with the calls of the batch, so a
// pipeline of messages costs one round trip.
func (c *Client) batchPublish(spec *command.Spec, args [][]byte) {
	if c.calls.data {
		c.calls.run()
	}
	s := c.calls.add(spec)
	c.records.show(spec, args, c.db)
	s.op[0].Args = args
	s.receivers = c.calls.publish(args)
}

// opOf is a command in the form in which it is sent to the shard.
func opOf(db int, args [][]byte, spec *command.Spec) fsm.Op {
	if spec.SentAs != "" {
		args = slices.Clone(args)
		args[0] = []byte(spec.SentAs)
		spec = commands.Get(spec.SentAs)
	}
	return fsm.NewOp(db, args, spec)
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

// finish ends a batch whose calls are answered. It returns false if the connection is to be closed.
func (c *Client) finish() bool {
	c.note(time.Now())
	written := c.out.write()
	c.listener.release()
	return written && !c.out.closing
}
