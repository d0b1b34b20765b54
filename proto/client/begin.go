package client

import (
	"context"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// Starter begins calls without waiting for them; router.Router is one. See there.
type Starter interface {
	Start(calls []*cluster.Call, f *cluster.Flight) cluster.Started
	Land(f *cluster.Flight) bool
	Finish(ctx context.Context, f *cluster.Flight)
	Abandon(f *cluster.Flight)
}

// Progress tells how far Begin came with a batch.
type Progress uint8

const (
	// Answered: the batch is answered, and the client can go on.
	Answered Progress = iota
	// Flying: the batch is on its way; see Landed.
	Flying
	// Untouched: nothing has been done, for something in the batch may wait. Handle is
	// for it.
	Untouched
	// Halfway: what is left to do may wait. Conclude does it.
	Halfway
	// Ended: the batch is answered, and the connection is to be closed.
	Ended
)

const (
	// quickArgsMax is how many arguments a command has that Begin takes, quickBatchMax
	// how many commands a batch, and quickBytesMax how long replies were of late.
	quickArgsMax  = 256
	quickBatchMax = 128
	quickBytesMax = 64 << 10
)

// quick tells whether answering a batch needs no waiting but for what its calls
// wait for.
func (c *Client) quick(batch [][][]byte) bool {
	if c.backend.Starter == nil || c.tx.open || c.monitoring || c.listeningOnly() || c.registry.pause.now.Load() != nil || c.conn.Behind() ||
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

// Begin is Handle for who serves many clients in turn: it never waits. The batch
// belongs to the client until it is answered; until then neither Begin nor Handle may
// be called. flight.Landed is called when what flies has landed.
func (c *Client) Begin(batch [][][]byte, flight *cluster.Flight) Progress {
	if !c.quick(batch) {
		return Untouched
	}
	c.shared.busy.Store(true)
	c.hurried = true
	known := c.gatherAll(batch, c.calls.rows)
	c.hurried = false
	if !known {
		return c.ended(false)
	}
	if c.lost {
		// To be closed, and perhaps with calls that must run all the same.
		return Halfway
	}
	c.later.Kick()
	if c.calls.empty() {
		return c.ended(c.finish())
	}
	c.calls.list()
	c.calls.started = time.Now()
	switch c.backend.Starter.Start(c.calls.ptrs, flight) {
	case cluster.StartedDone:
		return c.ended(c.mergeInLoop())
	case cluster.StartedFlight:
		return Flying
	}
	return Halfway
}

// Landed goes on with a batch that flies, when the flight says that it has landed.
// It returns Flying where it has not, or not well: then somebody who may wait calls
// Conclude, when the flight is finished.
func (c *Client) Landed(flight *cluster.Flight) Progress {
	if !c.backend.Starter.Land(flight) {
		return Flying
	}
	return c.ended(c.mergeInLoop())
}

// mergeInLoop is mergeAndFinish where nobody may wait for the client to read.
func (c *Client) mergeInLoop() bool {
	c.hurried = true
	goOn := c.mergeAndFinish()
	c.hurried = false
	return goOn
}

// FinishFlight waits for a flight that has not landed, or not well. Conclude goes on.
func (c *Client) FinishFlight(flight *cluster.Flight) { c.backend.Starter.Finish(c.ctx, flight) }

// AbandonFlight gives a flight up, if there is one, where the connection ends by a fault.
func (c *Client) AbandonFlight(flight *cluster.Flight) {
	if c.backend.Starter != nil && flight.Way != nil {
		c.backend.Starter.Abandon(flight)
	}
}

// Conclude does what is left to do of a batch that Begin came halfway with; it may
// wait. It returns what Handle returns.
func (c *Client) Conclude() bool {
	goOn := c.conclude()
	return c.ended(goOn) == Answered
}

func (c *Client) conclude() bool {
	if b := &c.calls; len(b.all) > 0 && b.all[0].call.Answered() {
		return c.mergeAndFinish()
	}
	c.settle()
	return c.finish()
}

// mergeAndFinish gives the calls' replies their places and ends the batch.
func (c *Client) mergeAndFinish() bool {
	c.mergeAll()
	return c.finish()
}

func (c *Client) ended(goOn bool) Progress {
	if goOn && c.calls.empty() {
		// Of who is cut off calls may still be under way.
		c.calls.release()
	}
	c.shared.busy.Store(false)
	// In this order: who finds the client busy leaves it to this line.
	if goOn && !c.shared.killed.Load() {
		return Answered
	}
	return Ended
}
