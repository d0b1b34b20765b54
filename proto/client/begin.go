package client

import (
	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// Progress is the state of a batch.
type Progress uint8

const (
	// Answered means that the batch is answered, and the client can go on.
	Answered Progress = iota
	// Pending means that the batch has been sent. done will be called, and then Resume continues.
	Pending
	// Waits means that the rest of the batch may have to wait. Handle answers it.
	Waits
	// Closed means that the batch is answered, and the connection is to be closed.
	Closed
)

const (
	// Begin takes batches of at most quickBatchMax commands with at most quickArgsMax arguments
	// each, if recent replies were no longer than quickBytesMax.
	quickArgsMax  = 256
	quickBatchMax = 128
	quickBytesMax = 64 << 10
	// briefBytesMax is the greatest total length of a batch's replies that Resume handles.
	briefBytesMax = 2 << 20
)

// quick reports whether a batch can be answered without waiting for anything but its calls.
func (c *Client) quick(batch [][][]byte) bool {
	if c.tx.open || c.listener.monitoring || c.listener.listeningOnly() || c.registry.pause.now.Load() != nil || c.conn.Behind() ||
		len(batch) > quickBatchMax || c.calls.replyBytes*len(batch) > repliesBytes || c.calls.replyBytes > quickBytesMax {
		return false
	}
	c.calls.rows = c.calls.rows[:0]
	for _, args := range batch {
		spec, _ := commands.Lookup(args)
		c.calls.rows = append(c.calls.rows, spec)
		switch {
		case spec == nil || len(args) > quickArgsMax:
			return false
		case spec.Scope == command.ScopeNode && spec.Has(command.InLoop):
		case spec.Scope != command.ScopeKeys || spec.Flags&command.Blocking != 0 || spec.Has(command.Publishes):
			return false
		case !spec.Writes(args) && !spec.Brief(args):
			return false
		}
	}
	return true
}

// Begin starts to answer a batch, and never waits. The batch belongs to the client until it is
// answered, and no other batch may start until then. If the batch is Pending, done is called once,
// from any goroutine and perhaps before Begin returns. alone is true if that goroutine has no other
// results to deliver.
func (c *Client) Begin(batch [][][]byte, done func(alone bool)) Progress {
	if !c.quick(batch) {
		return Waits
	}
	c.shared.busy.Store(true)
	c.out.noWait = true
	known := c.batchAll(batch, c.calls.rows)
	c.out.noWait = false
	if !known {
		return c.ended(false)
	}
	c.calls.later.Kick()
	if c.calls.empty() {
		return c.ended(c.finish())
	}
	c.calls.listToRun()
	if !c.backend.Go(c.ctx, c.calls.ptrs, done) {
		return Pending
	}
	return c.Resume()
}

// Resume continues a batch whose calls are answered. It never waits.
func (c *Client) Resume() Progress {
	if !c.calls.brief() {
		return Waits
	}
	c.out.noWait = true
	c.calls.mergeAll()
	goOn := c.finish()
	c.out.noWait = false
	return c.ended(goOn)
}

// brief reports whether all calls are answered, with short replies. After large replies the rest of
// the batch waits until the client has read them.
func (b *calls) brief() bool {
	bytes := 0
	for _, call := range b.ptrs {
		if bytes += len(call.Reply); !call.Answered() || bytes > briefBytesMax {
			return false
		}
	}
	return true
}

// Handle answers a batch, or what Begin and Resume have left of it. It may wait. It returns false
// when the connection is to be closed. args and the bytes they point to belong to the caller again
// when it returns.
func (c *Client) Handle(batch [][][]byte) bool {
	if len(batch) == 0 {
		return true
	}
	c.shared.busy.Store(true)
	switch {
	case !c.calls.empty():
		c.calls.mergeAll()
	case !c.batchAll(batch, nil):
		return c.ended(false) == Answered
	default:
		c.calls.run()
	}
	return c.ended(c.finish()) == Answered
}

// ended records that a batch has ended.
func (c *Client) ended(goOn bool) Progress {
	if goOn && c.calls.empty() {
		// If a client is cut off, its calls may still be under way.
		c.calls.release()
	}
	c.shared.busy.Store(false)
	// The order matters: a kill of a busy client leaves closing its connection to
	// this line.
	if goOn && !c.shared.killed.Load() {
		return Answered
	}
	return Closed
}
