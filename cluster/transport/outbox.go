package transport

import (
	"net"
	"sync"
	"time"
)

// outbox is what waits to be written to a connection. One goroutine writes all
// that has gathered with one call, so a burst costs one system call.
type outbox struct {
	mu     sync.Mutex
	cond   sync.Cond
	frames net.Buffers
	bytes  int
	closed bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.cond.L = &o.mu
	return o
}

// push adds a frame; false: the box is full or closed.
func (o *outbox) push(frame []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || (o.bytes > 0 && o.bytes+len(frame) > queueBytesMax) {
		return false
	}
	o.frames = append(o.frames, frame)
	o.bytes += len(frame)
	if len(o.frames) == 1 {
		o.cond.Signal()
	}
	return true
}

// writeTimeout bounds one write; a peer that takes nothing for so long is gone.
const writeTimeout = 20 * time.Second

// drain writes frames until the box or the connection is closed.
func (o *outbox) drain(conn net.Conn) {
	var small []byte
	for {
		o.mu.Lock()
		for len(o.frames) == 0 && !o.closed {
			o.cond.Wait()
		}
		if o.closed {
			o.mu.Unlock()
			return
		}
		frames := o.frames
		o.frames = nil
		o.bytes = 0
		o.mu.Unlock()
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		var err error
		if small, err = write(conn, frames, small); err != nil {
			conn.Close()
			o.close()
			return
		}
	}
}

// write sends frames: small ones copied together, large ones as they are.
func write(conn net.Conn, frames net.Buffers, small []byte) ([]byte, error) {
	const copyMax = 16 << 10
	small = small[:0]
	for _, f := range frames {
		if len(f) <= copyMax {
			small = append(small, f...)
			if len(small) < 4*copyMax {
				continue
			}
			f = nil
		}
		if len(small) > 0 {
			if _, err := conn.Write(small); err != nil {
				return small, err
			}
			small = small[:0]
		}
		if len(f) > 0 {
			if _, err := conn.Write(f); err != nil {
				return small, err
			}
		}
	}
	if len(small) > 0 {
		if _, err := conn.Write(small); err != nil {
			return small, err
		}
	}
	return small, nil
}

func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.frames = nil
	o.cond.Broadcast()
	o.mu.Unlock()
}
