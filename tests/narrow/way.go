package narrow

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// chunkBytes is how much of one connection passes before another's turn.
const chunkBytes = 16 << 10

// Way is a way to a node's peer port that lets a bounded number of bytes pass in a second,
// all connections together, as a network of little bandwidth does. What the node answers
// passes freely.
type Way struct {
	net.Listener
	// To is the node's own peer address; it must be set before anybody dials.
	To string
	// Pace is how fast bytes pass: at once, until it is narrowed.
	Pace
	// passed counts the bytes that have passed.
	passed atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// Pace is how fast bytes pass on a way, all its connections together. The zero value
// holds nothing up.
type Pace struct {
	mu sync.Mutex
	// bytesPerSec is what passes; 0: all at once.
	bytesPerSec int
	// free is when what has passed so far has passed.
	free time.Time
}

// Narrow lets so many bytes pass in a second from now on; 0: all at once.
func (p *Pace) Narrow(bytesPerSec int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytesPerSec, p.free = bytesPerSec, time.Time{}
}

// Turn is how long it takes until so many bytes have passed behind all others.
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

// NewWay makes one for as long as the test lasts. It is as wide as the machine until
// Narrow is called.
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

// Passed is how many bytes have passed.
func (w *Way) Passed() int64 { return w.passed.Load() }

// Cut breaks all connections; new ones can be made.
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

// join lets bytes pass between a dialler and the node.
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
