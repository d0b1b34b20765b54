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

// talk is the serving of one client's connection: by a loop while its batches need
// no waiting, else by a goroutine of its own. Only one of the two has the
// connection at a time.
type talk struct {
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

// newTalk prepares to serve a connection. raw is the connection underneath.
func (s *Server) newTalk(conn, raw net.Conn) *talk {
	t := &talk{s: s, conn: conn, raw: raw}
	t.polled, _ = conn.(*poll.Conn)
	t.guard = resp.NewGuard(conn, t.limits, &s.cfg.Stats.Traffic)
	t.client = client.New(s.ctx, s.cfg.Backend, s.cfg.Registry, s.cfg.Stats, t.guard)
	t.client.OnBlock = s.blocked
	if t.polled != nil {
		t.done = t.polled.Call
	}
	return t
}

// limits are the current limits for this client.
func (t *talk) limits() resp.Limits {
	// The client is nil while it is being made, and limits may already be called
	// then.
	c := t.client
	limits := t.s.limits(c != nil && c.Connection().Subscribed())
	if limits.IdleTimeout > 0 && c != nil && c.Connection().Listens() {
		limits.IdleTimeout = 0
	}
	return limits
}

// beginLoops starts the loops for connections, for half of the processors. The other half is for
// the log, the work that it brings, and long commands. On systems without loops each connection has
// a goroutine.
func (s *Server) beginLoops() {
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
func (t *talk) run(first func() bool) {
	back := false
	defer func() {
		// A panic while serving one connection must not end the node.
		if p := recover(); p != nil {
			t.s.cfg.Panics.Note("a client", p)
			back = false
		}
		if !back {
			t.close()
		}
	}()
	if first != nil && !t.first(first) {
		t.finish()
		return
	}
	if back = first != nil && t.loops() || t.serve(); back {
		t.polled.Enter(t)
	} else {
		t.finish()
	}
}

// first runs the work that left the loop. The loop has already counted it as under
// way.
func (t *talk) first(do func() bool) bool {
	defer t.s.active.Add(-1)
	return do()
}

// close ends the connection.
func (t *talk) close() {
	t.guard.Close()
	t.client.Close()
	t.s.leave(t.raw)
}

// finish sends the remaining output.
func (t *talk) finish() {
	t.guard.Finish(finishPatience)
	if t.s.leaving.Load() {
		seeOff(t.raw)
	}
}

// serve answers batches until the client or the server ends the connection, and
// then returns false. It returns true when the connection can go into a loop.
func (t *talk) serve() (back bool) {
	for {
		data, n, err := t.guard.Next()
		if err != nil {
			t.farewell(err)
			return false
		}
		if !t.parse(data, n) {
			return false
		}
		if !t.answer(t.handle) {
			return false
		}
		if t.loops() {
			return true
		}
	}
}

// loops reports whether the connection can go into a loop.
func (t *talk) loops() bool { return t.polled != nil && !t.polled.LeftForGood() }

const (
	// slowWeight is how many batches that need no waiting outweigh one that does. Where the sum
	// exceeds slowMax the connection stays with its goroutine, because moving back and forth costs
	// more than it saves.
	slowWeight, slowMax = 8, 64
)

// farewell reports to the client why it is no longer served, for errors that
// clients are told.
func (t *talk) farewell(err error) {
	var told resp.ProtocolError
	if errors.As(err, &told) {
		t.client.Farewell(told.Error())
	}
	if errors.Is(err, resp.ErrSpeaksPeer) {
		t.client.Farewell(secret.ClientPort(t.s.cfg.PeerPort))
	}
	if errors.Is(err, resp.ErrQueryBuffer) {
		t.s.cuts.Warn(t.s.cfg.Log, "a client was closed", "from", t.guard.RemoteAddr().String(), "reason", err)
	}
	if errors.Is(err, resp.ErrSpeaksTLS) || errors.Is(err, resp.ErrSpeaksPeer) {
		t.s.strays.Warn(t.s.cfg.Log, "a client was closed", "from", t.guard.RemoteAddr().String(), "reason", err)
	}
}

// parse makes a batch of n whole commands.
func (t *talk) parse(data []byte, n int) bool {
	t.dataBytes = len(data)
	t.batch, t.arena = parse(data, t.batch[:0], t.arena)
	if len(t.batch) != n {
		t.s.cfg.Log.Error("guard and parser disagree", "guard", n, "parser", len(t.batch))
		return false
	}
	return true
}

// handle answers the batch. It returns false if the connection is to be closed.
func (t *talk) handle() bool {
	last := t.s.leaving.Load()
	if last {
		hold(t.raw)
	}
	goOn := t.client.Handle(t.batch) && !(last && !t.client.InTransaction())
	if cap(t.arena) > argsKept || t.dataBytes > bytesKept {
		// They point into a buffer that may be large.
		t.arena, t.batch = nil, nil
	}
	return goOn
}

// answer runs how to answer a batch, which counts as under way until then.
func (t *talk) answer(how func() bool) bool {
	t.s.active.Add(1)
	return t.first(how)
}

// Ready implements poll.Guest.
func (t *talk) Ready() {
	t.more = true
	if !t.pending {
		t.step()
	}
}

// TryRead reads for the guard while the connection is in the loop.
func (t *talk) TryRead(p []byte) (int, error) {
	t.more = false
	return t.polled.TryRead(p)
}

// drained reports whether there is nothing to read until the loop reports more input.
func (t *talk) drained() bool { return !t.more && !t.guard.Filled() && t.polled.Drained() }

// step answers the available input, until there is none or another goroutine has to
// continue.
func (t *talk) step() {
	defer t.guarded()
	t.deadline = time.Time{}
	for range stepsMax {
		data, n, err := t.guard.TryNext(t)
		switch {
		case errors.Is(err, poll.ErrNothing):
			t.rest()
			return
		case err != nil:
			t.outside(func() bool { t.farewell(err); return false })
			return
		case n == 0:
			if t.guard.Buffered() > loopBytesMax {
				t.outside(nil)
				return
			}
			if t.drained() {
				t.rest()
				return
			}
			continue
		}
		if !t.parse(data, n) {
			t.outside(func() bool { return false })
			return
		}
		if t.s.leaving.Load() || len(data) > loopBytesMax {
			t.outside(t.handle)
			return
		}
		if !t.begin() {
			return
		}
		if !t.guard.Within() && t.drained() {
			t.rest()
			return
		}
	}
	t.polled.Again()
}

const (
	// stepsMax is how many reads or batches of one client are handled before other clients have
	// their turn.
	stepsMax = 8
	// loopBytesMax is the longest command or batch, in bytes, that a loop handles. Longer ones take
	// long and go to a goroutine.
	loopBytesMax = 64 << 10
)

// begin starts a batch. It returns false if the batch is not finished, and will be
// continued elsewhere.
func (t *talk) begin() bool {
	t.pending = true
	t.s.active.Add(1)
	t.hold()
	return t.came(t.client.Begin(t.batch, t.done))
}

// came continues after a step of a batch. It returns false if the batch will be
// continued elsewhere.
func (t *talk) came(to client.Progress) bool {
	switch to {
	case client.Answered:
		t.pending = false
		t.s.active.Add(-1)
		t.slow = max(0, t.slow-1)
		return true
	case client.Pending:
		t.polled.Gave()
	case client.Waits:
		t.outside(func() bool {
			if t.slow += slowWeight; t.slow > slowMax {
				t.polled.LeaveForGood()
			}
			return t.handle()
		})
	case client.Closed:
		t.outside(func() bool { return false })
	}
	return false
}

// hold makes replies wait until those to other clients are written.
func (t *talk) hold() {
	t.guard.Hold()
	t.polled.Later()
}

// Flush implements poll.Guest.
func (t *talk) Flush() { t.guard.Release() }

// rest waits for the client to send something. Within a command the time for that
// is short.
func (t *talk) rest() {
	t.deadline, t.allowed = time.Time{}, t.patience()
	if t.allowed > 0 {
		t.deadline = time.Now().Add(t.allowed)
		t.polled.Clock(true)
	}
}

// patience is how long the client may currently send nothing; 0 means for ever.
func (t *talk) patience() time.Duration {
	limits := t.limits()
	if t.guard.Within() {
		return limits.StallTimeout
	}
	return limits.IdleTimeout
}

// outside takes the connection out of the loop. A goroutine continues, with first if that is not
// nil, else with the client's input.
func (t *talk) outside(first func() bool) {
	t.deadline = time.Time{}
	t.polled.Leave()
	t.guard.Release()
	if first != nil && !t.pending {
		t.s.active.Add(1)
	}
	t.pending = false
	go t.run(first)
}

// Called implements poll.Guest: the pending batch has its answers.
func (t *talk) Called() {
	if !t.pending {
		return
	}
	defer t.guarded()
	t.hold()
	switch {
	case !t.came(t.client.Resume()):
	case t.guard.Within() || !t.drained():
		t.step()
	default:
		t.rest()
	}
}

// Tick implements poll.Guest.
func (t *talk) Tick() {
	defer t.guarded()
	now := time.Now()
	switch {
	case t.deadline.IsZero():
		t.polled.Clock(false)
	case now.After(t.deadline):
		if wait := t.patience(); wait == 0 || wait > t.allowed {
			// It may be idle for longer by now.
			t.rest()
			return
		}
		t.outside(func() bool { return false })
	}
}

// guarded ends the connection after a panic in the loop.
func (t *talk) guarded() {
	if p := recover(); p != nil {
		p = caught.Carry(p)
		t.outside(func() bool { panic(p) })
	}
}
