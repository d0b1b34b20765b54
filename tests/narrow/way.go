package narrow

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// chunkBytes is how many bytes of one connection pass before it is the turn of another.
const chunkBytes = 16 << 10

// Way is a proxy for a node's peer port. It lets a limited number of bytes per second pass to the
// node, for all connections together, like a network of low bandwidth. The bytes from the node pass
// without a limit.
type Way struct {
	net.Listener
	// To is the node's own peer address. It must be set before the first connection.
	To string
	// Pace is the bandwidth. It is unlimited until Narrow is called.
	Pace
	// passed counts the bytes that have passed.
	passed atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// Pace limits the bandwidth of all connections of a way together. The zero value has no limit.
type Pace struct {
	mu sync.Mutex
	// bytesPerSec is the limit. 0 means that there is none.
	bytesPerSec int
	// free is the time at which all bytes so far have passed.
	free time.Time
}

// Narrow limits the bandwidth from now on. 0 removes the limit.
func (p *Pace) Narrow(bytesPerSec int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytesPerSec, p.free = bytesPerSec, time.Time{}
}

// Turn returns how long it takes until these bytes have passed behind all earlier ones.
func (p *Pace) Turn(bytes int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytesPerSec == 0 {
		return 0
	}
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(bytes) * time.Second / time.Duration(p.bytesPerSec))
	return time.Until(p.free)
}

// NewWay starts a way that lasts until the test ends. Its bandwidth is unlimited until Narrow is
// called.
func NewWay(t testing.TB) *Way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Way{Listener: l, conns: map[net.Conn]struct{}{}}
	t.Cleanup(func() {
		l.Close()
		w.Cut()
	})
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go w.join(from)
		}
	}()
	return w
}

// Passed returns the number of bytes that have passed.
func (w *Way) Passed() int64 { return w.passed.Load() }

// Cut breaks all connections. New ones can be made.
func (w *Way) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.Close()
	}
}

func (w *Way) note(c net.Conn, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if open {
		w.conns[c] = struct{}{}
	} else {
		delete(w.conns, c)
	}
}

// join passes bytes between a client of the port and the node.
func (w *Way) join(from net.Conn) {
	defer from.Close()
	w.note(from, true)
	defer w.note(from, false)
	to, err := net.Dial("tcp", w.To)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(from, to)
		from.Close()
	}()
	for buf := make([]byte, chunkBytes); ; {
		read, err := from.Read(buf)
		if err != nil {
			return
		}
		if wait := w.Turn(read); wait > 0 {
			<-time.After(wait)
		}
		if _, err := to.Write(buf[:read]); err != nil {
			return
		}
		w.passed.Add(int64(read))
	}
}
