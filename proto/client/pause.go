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

// start pauses clients. If a pause is under way, the later end and the stricter
// mode of the two apply.
func (p *pause) start(d time.Duration, writesOnly bool) {
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

// current is the pause under way, or nil if there is none.
func (p *pause) current() *pauseState {
	s := p.now.Load()
	if s != nil && !time.Now().Before(s.until) {
		p.replace(s, nil)
		return nil
	}
	return s
}

// heldBack is a command that a pause may hold back.
type heldBack struct {
	c    *Client
	spec *command.Spec
	args [][]byte
}

// by is the pause that currently holds back the command, or nil if there is none.
func (h heldBack) by() *pauseState {
	s := h.c.registry.pause.current()
	switch {
	case s == nil, h.c.listener.monitoring, h.spec.Has(command.DespitePause):
		return nil
	case s.writesOnly && !h.mayWrite():
		return nil
	}
	return s
}

// mayWrite reports whether the command may write. For EXEC this depends on the queued commands. A
// script or function counts as a write unless it is declared read-only.
func (h heldBack) mayWrite() bool {
	switch {
	case h.spec.Has(command.RunsQueue):
		return slices.ContainsFunc(h.c.tx.queue, func(q queued) bool { return heldBack{h.c, q.spec, q.args}.mayWrite() })
	case h.spec.RunsProgram():
		return h.c.backend.mustLog(h.spec, h.args)
	}
	return h.spec.Flags&(command.Write|command.MayReplicate) != 0
}

// pass waits until no pause holds back the command. It returns false if the connection has ended
// meanwhile, or if the command may not run any more; the error has then been sent.
func (c *Client) pass(spec *command.Spec, args [][]byte) bool {
	// A batch that Begin has started counts as older than a pause that Begin did not see.
	if c.out.noWait || c.registry.pause.now.Load() == nil {
		return true
	}
	h := heldBack{c, spec, args}
	return h.by() == nil || h.wait()
}

// wait is pass for a command that a pause holds back.
func (h heldBack) wait() bool {
	c := h.c
	c.calls.run()
	if !c.out.write() {
		c.out.closing = true
		return false
	}
	lost, stop := c.conn.Watch()
	defer stop()
	h.setHeld(true)
	defer h.setHeld(false)
	c.listener.release()
	defer c.listener.hold()
	if c.shared.killed.Load() {
		// The goroutine that killed the client did not know that it waits.
		c.out.closing, c.out.silent = true, true
		return false
	}
	for {
		s := h.by()
		if s == nil {
			return h.mayStill()
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
func (h heldBack) mayStill() bool {
	c := h.c
	if !c.renew() {
		c.out.closing = true
		return false
	}
	refusal := c.refusal(h.spec, nil, h.args)
	if refusal != "" {
		c.reject(h.spec, refusal)
	}
	return refusal == ""
}

// setHeld records whether the client is held back. It then counts as blocked.
func (h heldBack) setHeld(yes bool) {
	c := h.c
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
	c.registry.pause.start(time.Duration(min(ms, pauseMax.Milliseconds()))*time.Millisecond, writesOnly)
	c.out.OK()
}

func clientUnpause(c *Client, _ [][]byte) {
	c.registry.pause.end()
	c.out.OK()
}
