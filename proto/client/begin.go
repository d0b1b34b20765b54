package client

import "lockstep/engine/command"

// Progress tells how far a client has come with a batch.
type Progress uint8

const (
	// Answered: the batch is answered, and the client can go on.
	Answered Progress = iota
	// Pending: the batch is on its way. done will be called, and Resume goes on then.
	Pending
	// Waits: what is left of the batch may have to wait, and Handle does it.
	Waits
	// Closed: the batch is answered, and the connection is to be closed.
	Closed
)

const (
	// quickArgsMax is how many arguments a command has that Begin takes, quickBatchMax
	// how many commands a batch, and quickBytesMax how long replies were of late.
	quickArgsMax  = 256
	quickBatchMax = 128
	quickBytesMax = 64 << 10
	// briefBytesMax is how long the replies of a batch are together that Resume takes.
	briefBytesMax = 2 << 20
)

// quick tells whether answering a batch needs no waiting but for what its calls
// wait for.
func (c *Client) quick(batch [][][]byte) bool {
	if c.tx.open || c.monitoring || c.listeningOnly() || c.registry.pause.now.Load() != nil || c.conn.Behind() ||
		len(batch) > quickBatchMax || c.calls.replyBytes*len(batch) > repliesBytes || c.calls.replyBytes > quickBytesMax {
		return false
	}
	c.calls.rows = c.calls.rows[:0]
	for _, args := range batch {
		spec, _ := command.Lookup(args)
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

// Begin begins to answer a batch, and never waits. The batch belongs to the client until it is
// answered; until then no other may begin. done is called once if the batch is Pending, from any
// goroutine and perhaps before Begin returns; alone: nobody else waits for that goroutine.
func (c *Client) Begin(batch [][][]byte, done func(alone bool)) Progress {
	if !c.quick(batch) {
		return Waits
	}
	c.shared.busy.Store(true)
	c.noWait = true
	known := c.gatherAll(batch, c.calls.rows)
	c.noWait = false
	if !known {
		return c.ended(false)
	}
	c.later.Kick()
	if c.calls.empty() {
		return c.ended(c.finish())
	}
	c.calls.begin()
	if !c.backend.Go(c.ctx, c.calls.ptrs, done) {
		return Pending
	}
	return c.Resume()
}

// Resume goes on with a batch whose calls are answered. It never waits.
func (c *Client) Resume() Progress {
	if !c.calls.brief() {
		return Waits
	}
	c.noWait = true
	c.mergeAll()
	goOn := c.finish()
	c.noWait = false
	return c.ended(goOn)
}

// brief tells whether all calls are answered, and briefly: what is behind large replies waits until
// the client has read those.
func (b *calls) brief() bool {
	bytes := 0
	for _, call := range b.ptrs {
		if bytes += len(call.Reply); !call.Answered() || bytes > briefBytesMax {
			return false
		}
	}
	return true
}

// Handle answers a batch, or what Begin and Resume have left of it; it may wait. It returns false
// when the connection is to be closed. args and what they point to belong to the caller again when
// it returns.
func (c *Client) Handle(batch [][][]byte) bool {
	if len(batch) == 0 {
		return true
	}
	c.shared.busy.Store(true)
	switch {
	case !c.calls.empty():
		c.mergeAll()
	case !c.gatherAll(batch, nil):
		return c.ended(false) == Answered
	default:
		c.settle()
	}
	return c.ended(c.finish()) == Answered
}

// ended notes that a batch has ended.
func (c *Client) ended(goOn bool) Progress {
	if goOn && c.calls.empty() {
		// Of a client that is cut off calls may still be under way.
		c.calls.release()
	}
	c.shared.busy.Store(false)
	// In this order: whoever kills a client that is busy leaves it to this line.
	if goOn && !c.shared.killed.Load() {
		return Answered
	}
	return Closed
}
