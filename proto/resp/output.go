package resp

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"lockstep/proto/poll"
)

// output writes replies without making their writer wait. It writes at once the bytes that the
// socket takes at once. The rest waits in a buffer, and a goroutine sends it to the client. The
// goroutine lives as long as bytes wait. A writer that waited would also stop reading. A client
// that sends a long pipeline before it reads would then wait for ever, which does not happen with
// Redis.
type output struct {
	// conn is the socket. seal encrypts what is sent; nil is no encryption.
	conn    net.Conn
	seal    *Sealed
	limits  func() Limits
	traffic *Traffic
	// direct, or raw and try, make one attempt to write that does not wait. They are nil if
	// the connection is not a socket.
	direct directWriter
	raw    syscall.RawConn
	try    func(fd uintptr) bool
	block  []byte
	tried  int

	written, waiting atomic.Int64
	// most is how many bytes may wait for a client that has not logged in. It is 0 for a client
	// that has logged in, because the configured limits bound its bytes.
	most atomic.Int64

	mu sync.Mutex // guards the fields below, and block and tried
	// While holding is true, written bytes wait in held for Release, if there is room. While held
	// has bytes, the queue is empty.
	holding bool
	held    *[]byte
	// queue holds the waiting bytes in pieces, so that nothing is copied as it grows. queued is its
	// length. draining is true while a goroutine writes the queue.
	queue  [][]byte
	queued int64
	// leaving is the length of the bytes that the goroutine has taken from the queue and is
	// writing. They count as waiting.
	leaving  int64
	draining bool
	// corked is true if a writer was told to call Kick.
	corked bool
	// idle is closed when the goroutine ends, if another goroutine waits for that.
	idle chan struct{}
	// softSince is the time since which more than the soft limit waits.
	softSince time.Time
	// room is closed when at most roomAt bytes wait. It is nil if no goroutine waits for room.
	room   chan struct{}
	roomAt int64
	err    error
}

// directWriter is a connection that writes as many bytes as the socket has room for, and does not
// wait; poll.Conn is one.
type directWriter interface {
	TryWrite(p []byte) (int, error)
}

// drainBytes is how much of the queue is written at once. Progress is measured in it.
const drainBytes = 64 << 10

// judgedBytes is how many more bytes must wait before queueLocked checks the limits again. The
// messages of one channel are short and many, so it does not check for each of them.
const judgedBytes = 1 << 10

// pieces is the pool of the pieces of queues, of drainBytes each. Most pieces are needed only for a
// moment.
var pieces = sync.Pool{New: func() any { return (*[drainBytes]byte)(make([]byte, drainBytes)) }}

// newPiece returns an empty piece with room for at least that many bytes.
func newPiece(bytes int) []byte {
	if bytes > drainBytes {
		return make([]byte, 0, bytes)
	}
	return pieces.Get().(*[drainBytes]byte)[:0]
}

// recycle returns a piece that is no longer used to the pool.
func recycle(piece []byte) {
	if cap(piece) == drainBytes {
		pieces.Put((*[drainBytes]byte)(piece[:drainBytes]))
	}
}

// heldBytesMax is the most bytes that Hold keeps back.
const heldBytesMax = 16 << 10

// heldPool is the pool of the buffers of held bytes. They are released soon.
var heldPool = sync.Pool{New: func() any { b := make([]byte, 0, heldBytesMax); return &b }}

// Hold makes the bytes that are written from now on wait for Release, as long as they
// are few. Release must follow soon. An event loop that serves many clients in turn
// writes to one after the other, and wakes their common reader once.
func (g *Guard) Hold() {
	g.out.mu.Lock()
	g.out.holding = g.out.seal == nil
	g.out.mu.Unlock()
}

// Release sends the bytes that were held back. An error is final; the next Write returns it.
func (g *Guard) Release() {
	g.out.mu.Lock()
	g.out.holding = false
	_ = g.out.releaseLocked()
	g.out.mu.Unlock()
}

// Write sends replies, at once or as the client reads. An error is final.
func (g *Guard) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := g.out.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteLater queues bytes that belong to no request. It does not try the socket, so that a
// publisher goes on at once. The bytes that gather until Kick are sent in one piece, and in order
// with the bytes of Write. kick reports whether the caller must call Kick: no goroutine sends the
// bytes otherwise.
func (g *Guard) WriteLater(p []byte) (kick bool, err error) {
	o := &g.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false, o.err
	}
	if o.held != nil {
		return false, o.sendLocked(p)
	}
	if err := o.sealedLocked(p, o.queueLocked); err != nil {
		return false, err
	}
	kick = !o.draining && !o.corked
	o.corked = o.corked || kick
	return kick, nil
}

// kickPiecesMax is how many pieces Kick writes. A client with more waiting bytes is left to the
// goroutine.
const kickPiecesMax = 2

// Kick sends the bytes that WriteLater has queued: a little at once, if the socket takes it, and
// the rest as the client reads. It makes system calls, and does not wait.
func (g *Guard) Kick() {
	o := &g.out
	o.mu.Lock()
	defer o.mu.Unlock()
	o.corked = false
	for n := 0; len(o.queue) > 0 && !o.draining; n++ {
		if n == kickPiecesMax {
			o.drainLocked()
			return
		}
		piece := o.queue[0]
		taken, err := o.attempt(piece)
		if err != nil {
			o.failLocked(err)
			return
		}
		o.holdLocked(o.queued-int64(taken), o.leaving)
		if taken < len(piece) {
			o.queue[0] = piece[taken:]
			o.drainLocked()
			return
		}
		o.queue = o.queue[:copy(o.queue, o.queue[1:])]
		recycle(piece)
	}
}

// Finish sends the message that ends a TLS connection, and waits until this and all earlier bytes
// have been sent. It waits as long as the client goes on reading, and gives up when the client
// takes nothing for the patience. Nothing can be written after it.
func (g *Guard) Finish(patience time.Duration) {
	g.out.mu.Lock()
	if g.out.seal != nil && g.out.err == nil {
		last := g.out.seal.goodbye()
		_ = g.out.sendLocked(last)
		g.out.seal.done(last)
	}
	g.out.mu.Unlock()
	for before := int64(-1); before != g.out.written.Load(); {
		before = g.out.written.Load()
		if g.flushed(patience) {
			return
		}
	}
}

// Flush waits until all written bytes have been sent, but not for longer than the patience.
func (g *Guard) Flush(patience time.Duration) { g.flushed(patience) }

// flushed does the work of Flush. It returns true if no bytes wait any more.
func (g *Guard) flushed(patience time.Duration) bool {
	g.out.mu.Lock()
	_ = g.out.releaseLocked()
	g.out.drainLocked()
	if !g.out.draining {
		g.out.mu.Unlock()
		return true
	}
	if g.out.idle == nil {
		g.out.idle = make(chan struct{})
	}
	idle := g.out.idle
	g.out.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}

func (o *output) write(p []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	return o.sealedLocked(p, o.sendLocked)
}

// sealedLocked passes p to send, plain or encrypted. send keeps no part of its argument.
func (o *output) sealedLocked(p []byte, send func([]byte) error) error {
	if o.seal == nil {
		return send(p)
	}
	for len(p) > 0 {
		part := p[:min(len(p), sealBytes)]
		p = p[len(part):]
		sealed, err := o.seal.seal(part)
		if err != nil {
			o.failLocked(err)
			return err
		}
		if err := send(sealed); err != nil {
			return err
		}
		o.seal.done(sealed)
	}
	return nil
}

// sendLocked sends the bytes that the socket takes at once, and leaves the rest to the goroutine
// that writes the queue.
func (o *output) sendLocked(p []byte) error {
	if o.holdsLocked(p) {
		return nil
	}
	if err := o.releaseLocked(); err != nil {
		return err
	}
	if o.queued == 0 && !o.draining {
		n, err := o.attempt(p)
		if err != nil {
			o.failLocked(err)
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
	if err := o.queueLocked(p); err != nil {
		return err
	}
	o.drainLocked()
	return nil
}

// holdsLocked holds p back if there is room, and reports whether it did.
func (o *output) holdsLocked(p []byte) bool {
	if !o.holding || o.queued > 0 || o.draining || len(p) > heldBytesMax {
		return false
	}
	if o.held == nil {
		o.held = heldPool.Get().(*[]byte)
	}
	if len(*o.held)+len(p) > heldBytesMax {
		return false
	}
	*o.held = append(*o.held, p...)
	return true
}

// releaseLocked sends the held bytes.
func (o *output) releaseLocked() error {
	held := o.held
	if held == nil {
		return nil
	}
	o.held = nil
	holding := o.holding
	o.holding = false
	var err error
	if len(*held) > 0 && o.err == nil {
		err = o.sendLocked(*held)
	}
	o.holding = holding
	*held = (*held)[:0]
	heldPool.Put(held)
	return err
}

// queueLocked appends a copy of p to the queue, if the limits allow it.
func (o *output) queueLocked(p []byte) error {
	if queued := o.queued + int64(len(p)); o.queued == 0 || queued/judgedBytes != o.queued/judgedBytes {
		limits := o.limits()
		if o.tooMuchLocked(&limits, queued+o.leaving) {
			o.cutLocked(ErrOutputBuffer, queued+o.leaving)
			return ErrOutputBuffer
		}
		defer o.traffic.judge(&limits)
	}
	o.appendLocked(p)
	return nil
}

// drainLocked starts a goroutine that writes the queue, unless one is running.
func (o *output) drainLocked() {
	o.corked = false
	if !o.draining && o.queued > 0 {
		o.draining = true
		go o.drain()
	}
}

// appendLocked appends a copy of p to the queue.
func (o *output) appendLocked(p []byte) {
	last := len(o.queue) - 1
	if last < 0 || cap(o.queue[last])-len(o.queue[last]) < len(p) {
		o.queue = append(o.queue, newPiece(len(p)))
		last++
	}
	o.queue[last] = append(o.queue[last], p...)
	o.holdLocked(o.queued+int64(len(p)), o.leaving)
}

// holdLocked records how many bytes wait now.
func (o *output) holdLocked(queued, leaving int64) {
	o.queued, o.leaving = queued, leaving
	o.traffic.Waiting.Add(queued + leaving - o.waiting.Swap(queued+leaving))
	o.tellRoomLocked()
}

// know records whether the client of the next request has logged in. Replies that already wait
// belong to requests of a client that had logged in.
func (o *output) know(authed bool) {
	switch known := o.most.Load() == 0; {
	case known == authed:
	case authed:
		o.most.Store(0)
	default:
		o.most.Store(o.waiting.Load() + unauthOutputMax)
	}
}

// tooMuchLocked reports whether too many bytes wait, or many bytes for too long.
func (o *output) tooMuchLocked(limits *Limits, waiting int64) bool {
	if limits.OutputHardMax > 0 && waiting > limits.OutputHardMax {
		return true
	}
	if most := o.most.Load(); most > 0 && waiting > most {
		return true
	}
	if limits.OutputSoftMax <= 0 || waiting <= limits.OutputSoftMax {
		o.softSince = time.Time{}
		return false
	}
	now := time.Now()
	if o.softSince.IsZero() {
		o.softSince = now
	}
	return now.Sub(o.softSince) > limits.OutputSoftTime
}

// CutOff ends the connection of a client for which other buffers hold waiting bytes.
func (g *Guard) CutOff(waiting int64) {
	g.out.mu.Lock()
	defer g.out.mu.Unlock()
	if g.out.err == nil {
		g.out.cutLocked(ErrOutputBuffer, waiting)
	}
}

// cutLocked ends the connection of a client that does not read, and reports it.
func (o *output) cutLocked(why error, waiting int64) {
	if errors.Is(why, ErrOutputBuffer) {
		o.traffic.OutputClosed.Add(1)
	}
	if o.traffic.Cut != nil {
		go o.traffic.Cut(o.conn.RemoteAddr(), waiting, why)
	}
	o.failLocked(why)
}

// failLocked ends the connection.
func (o *output) failLocked(err error) {
	if o.err == nil {
		o.err = err
	}
	o.queue = nil
	o.holdLocked(0, 0)
	_ = o.conn.Close()
}

// attempt writes the bytes that the socket takes at once.
func (o *output) attempt(p []byte) (int, error) {
	if o.direct != nil {
		n, err := o.direct.TryWrite(p)
		o.count(n)
		if errors.Is(err, poll.ErrNothing) {
			err = nil
		}
		return n, err
	}
	if o.raw == nil {
		return 0, nil
	}
	o.block, o.tried = p, 0
	err := o.raw.Write(o.try)
	o.block = nil
	o.count(o.tried)
	return o.tried, err
}

// tryOnce is called with the socket when it is ready. It returns true so that it is not
// called again. An error shows when the rest is written.
func (o *output) tryOnce(fd uintptr) bool {
	for o.tried < len(o.block) {
		n, err := syscall.Write(int(fd), o.block[o.tried:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		o.tried += n
	}
	return true
}

func (o *output) count(n int) {
	o.written.Add(int64(n))
	o.traffic.Out.Add(uint64(n))
	o.traffic.Writes.Add(1)
}

// drain writes the queue until it is empty. It closes the connection of a client that takes nothing
// for the stall timeout.
func (o *output) drain() {
	for {
		o.mu.Lock()
		if len(o.queue) == 0 || o.err != nil {
			o.endDrainLocked()
			o.mu.Unlock()
			return
		}
		piece := o.queue[0]
		o.queue[0] = nil
		o.queue = o.queue[1:]
		o.holdLocked(o.queued-int64(len(piece)), int64(len(piece)))
		o.mu.Unlock()
		err := o.writeWithin(piece)
		recycle(piece)
		o.mu.Lock()
		o.endPieceLocked(err)
		o.mu.Unlock()
	}
}

// endPieceLocked records the result of writing a piece.
func (o *output) endPieceLocked(err error) {
	waiting := o.queued + o.leaving
	o.holdLocked(o.queued, 0)
	switch {
	case o.err != nil || err == nil:
	case errors.Is(err, ErrOutputBuffer) || errors.Is(err, ErrStalled):
		o.cutLocked(err, waiting)
	default:
		o.failLocked(err)
	}
}

// writeWithin writes a piece. Each part of it must go out within the stall timeout, and before the
// client has been above its soft limit for too long.
func (o *output) writeWithin(piece []byte) error {
	moved := time.Now()
	for len(piece) > 0 {
		patience, err := o.patience(len(piece), moved)
		if err != nil {
			return err
		}
		if err := o.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		n, err := o.conn.Write(piece[:min(len(piece), drainBytes)])
		o.count(n)
		piece = piece[n:]
		switch {
		case n > 0:
			moved = time.Now()
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		}
	}
	return nil
}

// patience is how long the client may still take nothing. left is the unwritten rest of the
// current piece, moved is when the client last took something.
func (o *output) patience(left int, moved time.Time) (time.Duration, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	o.holdLocked(o.queued, int64(left))
	limits := o.limits()
	if o.tooMuchLocked(&limits, o.queued+o.leaving) {
		return 0, ErrOutputBuffer
	}
	patience := limits.StallTimeout - time.Since(moved)
	if patience <= 0 {
		return 0, ErrStalled
	}
	if !o.softSince.IsZero() {
		patience = min(patience, limits.OutputSoftTime-time.Since(o.softSince))
	}
	return max(patience, time.Millisecond), nil
}

func (o *output) endDrainLocked() {
	_ = o.conn.SetWriteDeadline(time.Time{})
	o.draining = false
	o.queue = nil
	o.holdLocked(0, 0)
	o.softSince = time.Time{}
	if o.idle != nil {
		close(o.idle)
		o.idle = nil
	}
}
