package transport

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A request frame: length u32 (of what follows), id u64, kind u8, payload. An
// answer: the same without the kind.
const (
	requestHead = 4 + 8 + 1
	answerHead  = 4 + 8
)

// redialPause is how long a peer that could not be dialled is left alone.
const redialPause = 50 * time.Millisecond

// peerConn is the connection on which this node sends requests to one peer.
type peerConn struct {
	t    *Transport
	addr string
	out  *outbox
	conn net.Conn

	mu      sync.Mutex
	waiting map[uint64]func([]byte, error)
	nextID  uint64
	failed  error
	// ready is closed when the dial has ended, well or badly.
	ready    chan struct{}
	failedAt time.Time
}

// Go sends a request and calls done once, from any goroutine, with the answer
// or the error. Requests of one goroutine to one peer keep their order.
func (t *Transport) Go(addr string, kind uint8, payload []byte, done func([]byte, error)) {
	if len(payload)+requestHead > FrameBytesMax {
		done(nil, fmt.Errorf("%w: %d bytes are too many", ErrNotSent, len(payload)))
		return
	}
	p, err := t.peer(addr)
	if err != nil {
		done(nil, err)
		return
	}
	p.send(kind, payload, done)
}

// Call sends a request and waits for its answer.
func (t *Transport) Call(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error) {
	type result struct {
		answer []byte
		err    error
	}
	c := make(chan result, 1)
	t.Go(addr, kind, payload, func(answer []byte, err error) { c <- result{answer, err} })
	select {
	case r := <-c:
		return r.answer, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrMaybeSent, ctx.Err())
	}
}

// peer returns the connection to a peer, begun if there is none that works.
func (t *Transport) peer(addr string) (*peerConn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	p := t.peers[addr]
	if p != nil {
		failed, at := p.failure()
		if failed == nil {
			return p, nil
		}
		if time.Since(at) < redialPause {
			return nil, failed
		}
	}
	p = &peerConn{t: t, addr: addr, out: newOutbox(), waiting: map[uint64]func([]byte, error){}, ready: make(chan struct{})}
	t.peers[addr] = p
	t.wait.Go(p.run)
	return p, nil
}

func (p *peerConn) failure() (error, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed, p.failedAt
}

func (p *peerConn) send(kind uint8, payload []byte, done func([]byte, error)) {
	p.mu.Lock()
	if p.failed != nil {
		err := p.failed
		p.mu.Unlock()
		done(nil, fmt.Errorf("%w: %w", ErrNotSent, err))
		return
	}
	if len(p.waiting) >= outstandingMax {
		p.mu.Unlock()
		done(nil, fmt.Errorf("%w: too many requests to %s are open", ErrNotSent, p.addr))
		return
	}
	p.nextID++
	id := p.nextID
	p.waiting[id] = done
	frame := make([]byte, 0, requestHead+len(payload))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(8+1+len(payload)))
	frame = binary.LittleEndian.AppendUint64(frame, id)
	frame = append(append(frame, kind), payload...)
	// Under the lock, so that frames stand in the order of their ids.
	ok := p.out.push(frame)
	if !ok {
		delete(p.waiting, id)
	}
	p.mu.Unlock()
	if !ok {
		done(nil, fmt.Errorf("%w: too much waits to be sent to %s", ErrNotSent, p.addr))
	}
}

// run dials, then reads answers until the connection breaks.
func (p *peerConn) run() {
	conn, err := p.t.dial(p.addr, preface{kind: streamRequests}, dialTimeout)
	p.mu.Lock()
	if p.failed != nil {
		err = p.failed
	}
	if err == nil {
		p.conn = conn
	}
	p.mu.Unlock()
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		p.fail(err, ErrNotSent)
		return
	}
	go p.out.drain(conn)
	err = p.read(conn)
	conn.Close()
	p.fail(err, ErrMaybeSent)
}

func (p *peerConn) read(conn net.Conn) error {
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		body, err := readFrame(r)
		if err != nil {
			return err
		}
		if len(body) < 8 {
			return fmt.Errorf("a short answer from %s", p.addr)
		}
		id := binary.LittleEndian.Uint64(body)
		p.mu.Lock()
		done := p.waiting[id]
		delete(p.waiting, id)
		p.mu.Unlock()
		if done != nil {
			done(body[8:], nil)
		}
	}
}

// fail ends the connection: what waits gets class, which says whether it may
// have been received.
func (p *peerConn) fail(err, class error) {
	p.mu.Lock()
	if p.failed == nil {
		p.failed, p.failedAt = fmt.Errorf("%w: %s: %w", ErrNotSent, p.addr, err), time.Now()
	}
	waiting := p.waiting
	p.waiting = map[uint64]func([]byte, error){}
	p.mu.Unlock()
	p.out.close()
	for _, done := range waiting {
		done(nil, fmt.Errorf("%w: %s: %w", class, p.addr, err))
	}
}

func (p *peerConn) close(err error) {
	p.mu.Lock()
	p.failed, p.failedAt = err, time.Now()
	conn := p.conn
	p.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

func readFrame(r *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > FrameBytesMax {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	return readBody(r, int(n))
}

// readBody reads n bytes and never holds much more memory than has arrived.
func readBody(r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	body := make([]byte, min(n, step))
	for read := 0; ; {
		if _, err := io.ReadFull(r, body[read:]); err != nil {
			return nil, err
		}
		read = len(body)
		if read == n {
			return body, nil
		}
		grown := make([]byte, min(n, 2*read))
		copy(grown, body)
		body = grown
	}
}

// serveRequests reads a peer's requests until the connection breaks.
func (t *Transport) serveRequests(conn net.Conn, from Peer) {
	out := newOutbox()
	go out.drain(conn)
	defer out.close()
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		body, err := readFrame(r)
		if err != nil || len(body) < 9 {
			return
		}
		kind := body[8]
		h := t.handlers[kind]
		if h == nil || (from.Stranger && !t.open[kind]) {
			return
		}
		id := binary.LittleEndian.Uint64(body)
		h(from, body[9:], func(answer []byte) {
			frame := make([]byte, 0, answerHead+len(answer))
			frame = binary.LittleEndian.AppendUint32(frame, uint32(8+len(answer)))
			frame = binary.LittleEndian.AppendUint64(frame, id)
			if !out.push(append(frame, answer...)) {
				// The peer reads too slowly; it will ask again on a new connection.
				conn.Close()
			}
		})
	}
}
