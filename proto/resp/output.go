package resp

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// output writes replies without making their writer wait. What the socket takes
// at once is written at once; the rest waits in a buffer, and a goroutine that
// lives as long as something waits brings it to the client. A writer that
// waited would stop reading too, and a client that sends a long pipeline before
// it reads would wait for ever, as it does not with Redis.
type output struct {
	conn    net.Conn
	limits  func() Limits
	traffic *Traffic
	// raw and try make one attempt to write that does not wait; nil where the
	// connection is no socket.
	raw   syscall.RawConn
	try   func(fd uintptr) bool
	block []byte
	tried int

	written, waiting atomic.Int64

	mu sync.Mutex
	// queue is what waits; draining tells that a goroutine sees to it.
	queue    []byte
	draining bool
	// idle is closed when the goroutine ends, if somebody waits for that.
	idle chan struct{}
	// softSince is when more than the soft limit began to wait.
	softSince time.Time
	err       error
}

// drainBytes is how much is written at once of what waits: progress is measured
// by it.
const drainBytes = 64 << 10

// Write sends replies, now or as the client reads. An error is final.
func (g *Guard) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := g.out.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Finish waits until what was written has been sent, but not for long.
func (g *Guard) Finish(patience time.Duration) {
	g.out.mu.Lock()
	if !g.out.draining {
		g.out.mu.Unlock()
		return
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
	case <-timer.C:
	}
}

func (o *output) write(p []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if !o.draining {
		n, err := o.attempt(p)
		if err != nil {
			o.failLocked(err)
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
	if o.tooMuchLocked(int64(len(o.queue) + len(p))) {
		o.traffic.OutputClosed.Add(1)
		o.failLocked(ErrOutputBuffer)
		return ErrOutputBuffer
	}
	o.queue = append(o.queue, p...)
	o.waiting.Store(int64(len(o.queue)))
	if !o.draining {
		o.draining = true
		go o.drain()
	}
	return nil
}

// tooMuchLocked judges how much waits, and for how long.
func (o *output) tooMuchLocked(waiting int64) bool {
	limits := o.limits()
	if limits.OutputHardMax > 0 && waiting > limits.OutputHardMax {
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

// failLocked ends the connection.
func (o *output) failLocked(err error) {
	if o.err == nil {
		o.err = err
	}
	o.queue = nil
	o.waiting.Store(0)
	_ = o.conn.Close()
}

// attempt writes what the socket takes at once.
func (o *output) attempt(p []byte) (int, error) {
	if o.raw == nil {
		return 0, nil
	}
	o.block, o.tried = p, 0
	err := o.raw.Write(o.try)
	o.block = nil
	o.count(o.tried)
	return o.tried, err
}

// tryOnce is called with the socket when it is ready; true: do not call again.
// An error shows when the rest is written.
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
}

// drain writes what waits until nothing does. A client that takes nothing for
// the stall timeout is given up.
func (o *output) drain() {
	var chunk []byte
	for {
		o.mu.Lock()
		if len(o.queue) == 0 || o.err != nil {
			o.endDrainLocked()
			o.mu.Unlock()
			return
		}
		if o.tooMuchLocked(int64(len(o.queue))) {
			o.traffic.OutputClosed.Add(1)
			o.failLocked(ErrOutputBuffer)
			o.mu.Unlock()
			continue
		}
		n := min(len(o.queue), drainBytes)
		chunk = append(chunk[:0], o.queue[:n]...)
		o.queue = o.queue[n:]
		o.waiting.Store(int64(len(o.queue)))
		o.mu.Unlock()
		if err := o.writeWithin(chunk); err != nil {
			o.mu.Lock()
			o.failLocked(err)
			o.mu.Unlock()
		}
	}
}

// writeWithin writes a chunk; each part of it must go out within the stall
// timeout.
func (o *output) writeWithin(chunk []byte) error {
	for len(chunk) > 0 {
		if err := o.conn.SetWriteDeadline(time.Now().Add(o.limits().StallTimeout)); err != nil {
			return err
		}
		n, err := o.conn.Write(chunk)
		o.count(n)
		chunk = chunk[n:]
		if n == 0 && err != nil {
			return err
		}
	}
	return nil
}

func (o *output) endDrainLocked() {
	_ = o.conn.SetWriteDeadline(time.Time{})
	o.draining = false
	o.queue = nil
	o.softSince = time.Time{}
	if o.idle != nil {
		close(o.idle)
		o.idle = nil
	}
}
