package server

import (
	"errors"
	"net"
	"runtime"
	"time"

	"lockstep/cluster/secret"
	"lockstep/ground/caught"
	"lockstep/proto/client"
	"lockstep/proto/poll"
	"lockstep/proto/resp"
)

// handler is the serving of one client's connection: by a loop while its batches need
// no waiting, else by a goroutine of its own. Only one of the two has the
// connection at a time.
type handler struct {
	s *Server
	// conn is what the guard reads, and raw the connection underneath. polled is raw as a
	// connection of a loop, or nil if it cannot be in a loop.
	conn, raw net.Conn
	polled    *poll.Conn
	guard     *resp.Guard
	client    *client.Client
	batch     [][][]byte
	arena     [][]byte
	dataBytes int
	// slow measures how often batches have had to leave the loop lately.
	slow int

	// The loop owns the following fields. done makes the loop call Called when a batch is answered.
	// pending means that a batch has been sent, and counts as under way.
	done    func(alone bool)
	pending bool
	// more is true if the loop has reported input and the socket was not read since. Taking input
	// from the guard does not count as reading, because the loop does not report twice.
	more bool
	// deadline is when the client must have sent something, or zero if there is no such time.
	// allowed is the time that it was given when it became idle.
	deadline time.Time
	allowed  time.Duration
}

// newHandler prepares to serve a connection. raw is the connection underneath.
func (s *Server) newHandler(conn, raw net.Conn) *handler {
	h := &handler{s: s, conn: conn, raw: raw}
	h.polled, _ = conn.(*poll.Conn)
	h.guard = resp.NewGuard(conn, h.limits, &s.cfg.Stats.Traffic)
	h.client = client.New(s.ctx, s.cfg.Backend, s.cfg.Registry, s.cfg.Stats, h.guard)
	h.client.OnBlock = s.blocked
	if h.polled != nil {
		h.done = h.polled.Call
	}
	return h
}

// limits are the current limits for this client.
func (h *handler) limits() resp.Limits {
	// The client is nil while it is being made, and limits may already be called
	// then.
	c := h.client
	limits := h.s.limits(c != nil && c.Connection().Subscribed())
	if limits.IdleTimeout > 0 && c != nil && c.Connection().Listens() {
		limits.IdleTimeout = 0
	}
	return limits
}

// startLoops starts the loops for connections, for half of the processors. The other half is for
// the log, the work that it brings, and long commands. On systems without loops each connection has
// a goroutine.
func (s *Server) startLoops() {
	for range max(1, runtime.NumCPU()/2) {
		l, err := poll.New()
		if err != nil {
			return
		}
		s.loops = append(s.loops, l)
	}
}

// poll puts a connection under a loop. It returns nil if that is not possible, and
// the connection is then unchanged.
func (s *Server) poll(conn net.Conn) *poll.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || len(s.loops) == 0 {
		return nil
	}
	polled, err := s.loops[s.next.Add(1)%uint32(len(s.loops))].Take(tcp)
	if err != nil {
		return nil
	}
	return polled
}

// run serves the client on this goroutine: first the work that left the loop, if there is any, and
// then until the connection ends or can go back into the loop.
func (h *handler) run(first func() bool) {
	back := false
	defer func() {
		// A panic while serving one connection must not end the node.
		if p := recover(); p != nil {
			h.s.cfg.Panics.Note("a client", p)
			back = false
		}
		if !back {
			h.close()
		}
	}()
	if first != nil && !h.runFirst(first) {
		h.flushLast()
		return
	}
	if back = first != nil && h.loops() || h.serve(); back {
		h.polled.Enter(h)
	} else {
		h.flushLast()
	}
}

// runFirst runs the work that left the loop. The loop has already counted it as under
// way.
func (h *handler) runFirst(do func() bool) bool {
	defer h.s.active.Add(-1)
	return do()
}

// close ends the connection.
func (h *handler) close() {
	h.guard.Close()
	h.client.Close()
	h.s.untrack(h.raw)
}

// flushLast sends the remaining output.
func (h *handler) flushLast() {
	h.guard.Finish(finishPatience)
	if h.s.draining.Load() {
		linger(h.raw)
	}
}

// serve answers batches until the client or the server ends the connection, and
// then returns false. It returns true when the connection can go into a loop.
func (h *handler) serve() (back bool) {
	for {
		data, n, err := h.guard.Next()
		if err != nil {
			h.farewell(err)
			return false
		}
		if !h.parse(data, n) {
			return false
		}
		if !h.answer(h.handle) {
			return false
		}
		if h.loops() {
			return true
		}
	}
}

// loops reports whether the connection can go into a loop.
func (h *handler) loops() bool { return h.polled != nil && !h.polled.LeftForGood() }

const (
	// slowWeight is how many batches that need no waiting outweigh one that does. Where the sum
	// exceeds slowMax the connection stays with its goroutine, because moving back and forth costs
	// more than it saves.
	slowWeight, slowMax = 8, 64
)

// farewell reports to the client why it is no longer served, for errors that
// clients are told.
func (h *handler) farewell(err error) {
	var told resp.ProtocolError
	if errors.As(err, &told) {
		h.client.Farewell(told.Error())
	}
	if errors.Is(err, resp.ErrSpeaksPeer) {
		h.client.Farewell(secret.ClientPort(h.s.cfg.PeerPort))
	}
	if errors.Is(err, resp.ErrQueryBuffer) {
		h.s.cuts.Warn(h.s.cfg.Log, "a client was closed", "from", h.guard.RemoteAddr().String(), "reason", err)
	}
	if errors.Is(err, resp.ErrSpeaksTLS) || errors.Is(err, resp.ErrSpeaksPeer) {
		h.s.strays.Warn(h.s.cfg.Log, "a client was closed", "from", h.guard.RemoteAddr().String(), "reason", err)
	}
}

// parse makes a batch of n whole commands.
func (h *handler) parse(data []byte, n int) bool {
	h.dataBytes = len(data)
	h.batch, h.arena = parse(data, h.batch[:0], h.arena)
	if len(h.batch) != n {
		h.s.cfg.Log.Error("guard and parser disagree", "guard", n, "parser", len(h.batch))
		return false
	}
	return true
}

// handle answers the batch. It returns false if the connection is to be closed.
func (h *handler) handle() bool {
	last := h.s.draining.Load()
	if last {
		holdLastReply(h.raw)
	}
	goOn := h.client.Handle(h.batch) && !(last && !h.client.InTransaction())
	if cap(h.arena) > argsKept || h.dataBytes > bytesKept {
		// They point into a buffer that may be large.
		h.arena, h.batch = nil, nil
	}
	return goOn
}

// answer runs how to answer a batch, which counts as under way until then.
func (h *handler) answer(how func() bool) bool {
	h.s.active.Add(1)
	return h.runFirst(how)
}

// Ready implements poll.Guest.
func (h *handler) Ready() {
	h.more = true
	if !h.pending {
		h.step()
	}
}

// TryRead reads for the guard while the connection is in the loop.
func (h *handler) TryRead(p []byte) (int, error) {
	h.more = false
	return h.polled.TryRead(p)
}

// drained reports whether there is nothing to read until the loop reports more input.
func (h *handler) drained() bool { return !h.more && !h.guard.Filled() && h.polled.Drained() }

// step answers the available input, until there is none or another goroutine has to
// continue.
func (h *handler) step() {
	defer h.endOnPanic()
	h.deadline = time.Time{}
	for range stepsMax {
		data, n, err := h.guard.TryNext(h)
		switch {
		case errors.Is(err, poll.ErrNothing):
			h.awaitInput()
			return
		case err != nil:
			h.leaveLoop(func() bool { h.farewell(err); return false })
			return
		case n == 0:
			if h.guard.Buffered() > loopBytesMax {
				h.leaveLoop(nil)
				return
			}
			if h.drained() {
				h.awaitInput()
				return
			}
			continue
		}
		if !h.parse(data, n) {
			h.leaveLoop(func() bool { return false })
			return
		}
		if h.s.draining.Load() || len(data) > loopBytesMax {
			h.leaveLoop(h.handle)
			return
		}
		if !h.beginBatch() {
			return
		}
		if !h.guard.Within() && h.drained() {
			h.awaitInput()
			return
		}
	}
	h.polled.Again()
}

const (
	// stepsMax is how many reads or batches of one client are handled before other clients have
	// their turn.
	stepsMax = 8
	// loopBytesMax is the longest command or batch, in bytes, that a loop handles. Longer ones take
	// long and go to a goroutine.
	loopBytesMax = 64 << 10
)

// beginBatch starts a batch. It returns false if the batch is not finished, and will be
// continued elsewhere.
func (h *handler) beginBatch() bool {
	h.pending = true
	h.s.active.Add(1)
	h.holdReplies()
	return h.proceed(h.client.Begin(h.batch, h.done))
}

// proceed continues after a step of a batch. It returns false if the batch will be
// continued elsewhere.
func (h *handler) proceed(to client.Progress) bool {
	switch to {
	case client.Answered:
		h.pending = false
		h.s.active.Add(-1)
		h.slow = max(0, h.slow-1)
		return true
	case client.Pending:
		h.polled.Gave()
	case client.Waits:
		h.leaveLoop(func() bool {
			if h.slow += slowWeight; h.slow > slowMax {
				h.polled.LeaveForGood()
			}
			return h.handle()
		})
	case client.Closed:
		h.leaveLoop(func() bool { return false })
	}
	return false
}

// holdReplies makes replies wait until those to other clients are written.
func (h *handler) holdReplies() {
	h.guard.Hold()
	h.polled.Later()
}

// Flush implements poll.Guest.
func (h *handler) Flush() { h.guard.Release() }

// awaitInput waits for the client to send something. Within a command the time for that
// is short.
func (h *handler) awaitInput() {
	h.deadline, h.allowed = time.Time{}, h.patience()
	if h.allowed > 0 {
		h.deadline = time.Now().Add(h.allowed)
		h.polled.Clock(true)
	}
}

// patience is how long the client may currently send nothing; 0 means for ever.
func (h *handler) patience() time.Duration {
	limits := h.limits()
	if h.guard.Within() {
		return limits.StallTimeout
	}
	return limits.IdleTimeout
}

// leaveLoop takes the connection out of the loop. A goroutine continues, with first if that is not
// nil, else with the client's input.
func (h *handler) leaveLoop(first func() bool) {
	h.deadline = time.Time{}
	h.polled.Leave()
	h.guard.Release()
	if first != nil && !h.pending {
		h.s.active.Add(1)
	}
	h.pending = false
	go h.run(first)
}

// Called implements poll.Guest: the pending batch has its answers.
func (h *handler) Called() {
	if !h.pending {
		return
	}
	defer h.endOnPanic()
	h.holdReplies()
	switch {
	case !h.proceed(h.client.Resume()):
	case h.guard.Within() || !h.drained():
		h.step()
	default:
		h.awaitInput()
	}
}

// Tick implements poll.Guest.
func (h *handler) Tick() {
	defer h.endOnPanic()
	now := time.Now()
	switch {
	case h.deadline.IsZero():
		h.polled.Clock(false)
	case now.After(h.deadline):
		if wait := h.patience(); wait == 0 || wait > h.allowed {
			// It may be idle for longer by now.
			h.awaitInput()
			return
		}
		h.leaveLoop(func() bool { return false })
	}
}

// endOnPanic ends the connection after a panic in the loop.
func (h *handler) endOnPanic() {
	if p := recover(); p != nil {
		p = caught.Carry(p)
		h.leaveLoop(func() bool { panic(p) })
	}
}
