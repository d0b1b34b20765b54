package client

import (
	"slices"
	"sync/atomic"
	"time"

	"lockstep/engine/command"
)

// pause holds back this node's clients (CLIENT PAUSE). A client that is held back
// has its earlier commands answered, and waits with the current one. Without a
// pause a command costs one check of a nil pointer.
type pause struct{ now atomic.Pointer[pauseState] }

// pauseState never changes. over is closed when another state, or nil, replaces it.
type pauseState struct {
	until      time.Time
	writesOnly bool
	over       chan struct{}
}

// pauseMax bounds a pause, because a client may ask for any number of milliseconds.
const pauseMax = 100 * 365 * 24 * time.Hour

// begin pauses clients. If a pause is under way, the later end and the stricter
// mode of the two apply.
func (p *pause) begin(d time.Duration, writesOnly bool) {
	for {
		old := p.now.Load()
		next := &pauseState{time.Now().Add(d), writesOnly, make(chan struct{})}
		if old != nil && time.Now().Before(old.until) {
			next.writesOnly = next.writesOnly && old.writesOnly
			if old.until.After(next.until) {
				next.until = old.until
			}
		}
		if p.replace(old, next) {
			return
		}
	}
}

// end lets all clients go on.
func (p *pause) end() {
	for {
		if old := p.now.Load(); old == nil || p.replace(old, nil) {
			return
		}
	}
}

func (p *pause) replace(old, next *pauseState) bool {
	if !p.now.CompareAndSwap(old, next) {
		return false
	}
	if old != nil {
		close(old.over)
	}
	return true
}

// holds is the pause that currently holds back a client's command, or nil if there is none.
func (p *pause) holds(c *Client, spec *command.Spec, args [][]byte) *pauseState {
	s := p.now.Load()
	if s == nil {
		return nil
	}
	if !time.Now().Before(s.until) {
		p.replace(s, nil)
		return nil
	}
	switch {
	case c.listener.monitoring, spec.Has(command.DespitePause):
		return nil
	case s.writesOnly && !c.mayWrite(spec, args):
		return nil
	}
	return s
}

// mayWrite reports whether a command may write. For EXEC this depends on the queued commands. A
// script or function counts as a write unless it is declared read-only.
func (c *Client) mayWrite(spec *command.Spec, args [][]byte) bool {
	switch {
	case spec.Has(command.RunsQueue):
		return slices.ContainsFunc(c.tx.queue, func(q queued) bool { return c.mayWrite(q.spec, q.args) })
	case spec.RunsProgram():
		return c.backend.mustLog(spec, args)
	}
	return spec.Flags&(command.Write|command.MayReplicate) != 0
}

// pass waits until no pause holds back the command. It returns false if the connection has ended
// meanwhile, or if the command may not run any more; the error has then been sent.
func (c *Client) pass(spec *command.Spec, args [][]byte) bool {
	// A batch that Begin has started counts as older than a pause that Begin did not see.
	if c.out.noWait || c.registry.pause.now.Load() == nil || c.registry.pause.holds(c, spec, args) == nil {
		return true
	}
	c.calls.run()
	if !c.out.write() {
		c.out.closing = true
		return false
	}
	lost, stop := c.conn.Watch()
	defer stop()
	c.setHeld(true)
	defer c.setHeld(false)
	c.listener.release()
	defer c.listener.hold()
	if c.shared.killed.Load() {
		// The goroutine that killed the client did not know that it waits.
		c.out.closing, c.out.silent = true, true
		return false
	}
	for {
		s := c.registry.pause.holds(c, spec, args)
		if s == nil {
			return c.mayStill(spec, args)
		}
		timer := time.NewTimer(time.Until(s.until))
		select {
		case <-s.over:
		case <-timer.C:
		case <-lost:
			c.out.closing, c.out.silent = true, true
		case <-c.ctx.Done():
			c.out.closing, c.out.silent = true, true
		}
		timer.Stop()
		if c.out.closing {
			return false
		}
	}
}

// mayStill checks a command that was held back again, as Redis does, because the
// rules may have changed.
func (c *Client) mayStill(spec *command.Spec, args [][]byte) bool {
	if !c.renew() {
		c.out.closing = true
		return false
	}
	refusal := c.refusal(spec, nil, args)
	if refusal != "" {
		c.reject(spec, refusal)
	}
	return refusal == ""
}

// setHeld records whether the client is held back. It then counts as blocked.
func (c *Client) setHeld(yes bool) {
	c.shared.mu.Lock()
	c.shared.held, c.shared.last = yes, c.last
	c.shared.mu.Unlock()
	if yes {
		c.stats.Blocked.Add(1)
	} else {
		c.stats.Blocked.Add(-1)
	}
	if c.OnBlock != nil {
		c.OnBlock(yes)
	}
}

// pauseHandlers are CLIENT PAUSE and UNPAUSE.
var pauseHandlers = group{"client|pause": clientPause, "client|unpause": clientUnpause}

func clientPause(c *Client, args [][]byte) {
	writesOnly := false
	switch {
	case len(args) > 4:
		c.out.Error("ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.")
		return
	case len(args) == 4 && fold(args[3]) == "write":
		writesOnly = true
	case len(args) == 4 && fold(args[3]) != "all":
		c.out.Error("ERR CLIENT PAUSE mode must be WRITE or ALL")
		return
	}
	ms, refusal := ParseTimeout(args[2])
	if refusal != "" {
		c.out.Error(refusal)
		return
	}
	c.registry.pause.begin(time.Duration(min(ms, pauseMax.Milliseconds()))*time.Millisecond, writesOnly)
	c.out.OK()
}

func clientUnpause(c *Client, _ [][]byte) {
	c.registry.pause.end()
	c.out.OK()
}
