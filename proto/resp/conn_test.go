package resp

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// script is a connection on which a client sends chunks, one for each read, and then hangs up. The
// bytes that are written to it wait until they are taken.
type script struct {
	net.Conn
	chunks [][]byte

	readDeadlines []time.Time
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.chunks[0])
	if s.chunks[0] = s.chunks[0][n:]; len(s.chunks[0]) == 0 {
		s.chunks = s.chunks[1:]
	}
	return n, nil
}

func (s *script) SetReadDeadline(t time.Time) error {
	s.readDeadlines = append(s.readDeadlines, t)
	return nil
}

func (s *script) Close() error { return nil }

// valve is a connection that takes only as many written bytes as the test lets through.
type valve struct {
	net.Conn
	mu     sync.Mutex
	room   int
	taken  []byte
	closed bool
	change chan struct{}
}

func newValve() *valve { return &valve{change: make(chan struct{})} }

// open lets n more bytes through.
func (v *valve) open(n int) {
	v.mu.Lock()
	v.room += n
	v.signalLocked()
	v.mu.Unlock()
}

func (v *valve) signalLocked() {
	close(v.change)
	v.change = make(chan struct{})
}

var errShut = errors.New("shut")

func (v *valve) Write(p []byte) (int, error) {
	for {
		v.mu.Lock()
		if v.closed {
			v.mu.Unlock()
			return 0, errShut
		}
		if n := min(len(p), v.room); n > 0 {
			v.taken = append(v.taken, p[:n]...)
			v.room -= n
			v.mu.Unlock()
			if n == len(p) {
				return n, nil
			}
			return n, io.ErrShortWrite
		}
		change := v.change
		v.mu.Unlock()
		<-change
	}
}

func (v *valve) SetWriteDeadline(time.Time) error { return nil }
func (v *valve) SetReadDeadline(time.Time) error  { return nil }

func (v *valve) Close() error {
	v.mu.Lock()
	if !v.closed {
		v.closed = true
		v.signalLocked()
	}
	v.mu.Unlock()
	return nil
}

func (v *valve) content() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return string(v.taken)
}
