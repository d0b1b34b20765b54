package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// After a failed dial a peer is not dialled again for redialPauseMin. The pause doubles with
	// each further failure, up to redialPauseMax.
	redialPauseMin = 25 * time.Millisecond
	redialPauseMax = time.Second
	// silentPings is how many pings in a row may pass without a byte from the peer.
	silentPings = 3
	// readBufferBytes is the most that one read call takes.
	readBufferBytes = 64 << 10
)

// peer is the connection on which this node sends requests to one other node. After a failure it is
// not used again: the next request makes a new one.
type peer struct {
	t    *Transport
	addr string
	out  *outbox
	// failures counts the failed dials in a row before this one.
	failures int
	// lost is true if the connection before this one broke or could not be made.
	lost bool
	// stranger is true if this node had no cluster when it made the connection.
	stranger bool
	ctx      context.Context
	cancel   context.CancelFunc
	// heard counts the reads that returned bytes. heardNs is when the last one did, since start.
	heard   atomic.Uint64
	heardNs atomic.Int64
	// pinged is when the ping that has no answer yet was sent. It is nil if all are answered.
	pinged atomic.Pointer[time.Time]
	// roundTripNs is how long the last answered ping took.
	roundTripNs atomic.Int64

	mu      sync.Mutex // guards what follows
	waiting map[uint64]func([]byte, error)
	nextID  uint64
	// since is when the connection was made, or zero before that.
	since time.Time
	// failed says why the connection can no longer be used.
	failed error
	// retryAt is when the peer may be dialled again.
	retryAt time.Time
}

// Go sends a request and calls done once, from any goroutine, with the answer
// or the error. Requests of one goroutine to one peer keep their order. The
// payload must not be changed afterwards; the answer belongs to done.
func (t *Transport) Go(addr string, kind uint8, payload []byte, done func([]byte, error)) {
	t.send(addr, kind, payload, done)
}

// Call sends a request and waits for its answer.
func (t *Transport) Call(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error) {
	type result struct {
		answer []byte
		err    error
	}
	c := make(chan result, 1)
	p, id := t.send(addr, kind, payload, func(answer []byte, err error) { c <- result{answer, err} })
	select {
	case r := <-c:
		return r.answer, r.err
	case <-ctx.Done():
		if p != nil {
			p.take(id)
		}
		return nil, fmt.Errorf("%w: %w", ErrMaybeSent, ctx.Err())
	}
}

// send is Go, but also returns the peer and the id under which the request waits for its answer.
func (t *Transport) send(addr string, kind uint8, payload []byte, done func([]byte, error)) (*peer, uint64) {
	if len(payload)+bodyHead > FrameBytesMax {
		done(nil, fmt.Errorf("%w: %d bytes are too many", ErrNotSent, len(payload)))
		return nil, 0
	}
	p, err := t.peer(addr)
	if err != nil {
		done(nil, err)
		return nil, 0
	}
	id, err := p.send(kind, payload, done)
	if err != nil {
		done(nil, err)
		return nil, 0
	}
	return p, id
}

// peer returns the connection to a peer. If no working one exists, it begins one.
func (t *Transport) peer(addr string) (*peer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	failures, lost := 0, false
	p := t.peers[addr]
	if p != nil {
		p.mu.Lock()
		failed, retryAt := p.failed, p.retryAt
		lost = failed != nil
		p.mu.Unlock()
		switch {
		case failed == nil && p.stranger && t.cfg.ClusterID() != "":
			// The node joined a cluster since then, and now connects as a member.
			p.cancel()
		case failed == nil:
			return p, nil
		case time.Now().Before(retryAt):
			return nil, failed
		default:
			failures = p.failures
		}
	}
	if p == nil && len(t.peers) >= peersMax {
		maps.DeleteFunc(t.peers, func(_ string, other *peer) bool { return other.gone() })
	}
	p = newPeer(t, addr)
	p.failures, p.lost, p.stranger = failures, lost, t.cfg.ClusterID() == ""
	t.peers[addr] = p
	t.wait.Go(p.run)
	return p, nil
}

// Lost reports whether the connection to a peer has broken, or could not be made, and nothing has
// come from the peer since. It returns false for a peer that this node has not sent anything to.
func (t *Transport) Lost(addr string) bool {
	t.mu.Lock()
	p := t.peers[addr]
	t.mu.Unlock()
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed != nil || p.lost && p.heard.Load() == 0
}

// SilentFor is how long the connection to a peer has neither brought anything nor accepted a part of a
// long frame that more parts follow. It is very long if there is no connection.
func (t *Transport) SilentFor(addr string) time.Duration {
	t.mu.Lock()
	p := t.peers[addr]
	t.mu.Unlock()
	if p == nil || p.gone() {
		return math.MaxInt64
	}
	return time.Since(start) - time.Duration(max(p.heardNs.Load(), p.out.movedNs.Load()))
}

// gone reports whether the connection can no longer be used.
func (p *peer) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed != nil
}

func newPeer(t *Transport, addr string) *peer {
	p := &peer{t: t, addr: addr, out: newOutbox(), waiting: map[uint64]func([]byte, error){}}
	p.ctx, p.cancel = context.WithCancel(t.ctx)
	return p
}

func (p *peer) send(kind uint8, payload []byte, done func([]byte, error)) (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return 0, p.failed
	}
	if len(p.waiting) >= outstandingMax {
		return 0, fmt.Errorf("%w: too many requests to %s are open", ErrFull, p.addr)
	}
	p.nextID++
	// Push under the lock, so that the frames are in the order of their ids.
	if !p.out.push(p.nextID, kind, payload, false) {
		return 0, fmt.Errorf("%w: too much waits to be sent to %s", ErrFull, p.addr)
	}
	p.waiting[p.nextID] = done
	return p.nextID, nil
}

// take removes a waiting request. It returns nil if the request has its answer.
func (p *peer) take(id uint64) func([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.waiting[id]
	delete(p.waiting, id)
	return done
}

// run dials, then reads answers until the connection breaks.
func (p *peer) run() {
	defer p.cancel()
	conn, err := p.t.dial(p.ctx, p.addr, preface{kind: streamRequests}, dialTimeout)
	if err != nil {
		p.failures++
		p.fail(err, min(redialPauseMin<<min(p.failures, 10), redialPauseMax))
		return
	}
	p.failures = 0
	p.mu.Lock()
	p.since = time.Now()
	p.mu.Unlock()
	defer context.AfterFunc(p.ctx, func() { conn.Close() })()
	p.t.wait.Go(func() { p.out.drain(conn) })
	p.t.wait.Go(func() { p.ping(conn) })
	err = p.read(conn)
	conn.Close()
	p.fail(err, 0)
}

// read passes answers to the functions that wait for them, until the connection breaks or one of
// them panics.
func (p *peer) read(conn net.Conn) (err error) {
	defer p.t.cfg.Panics.Catch("an answer of a peer", func() { err = errAnswerPanics })
	r := bufio.NewReaderSize(heardReader{conn, p}, readBufferBytes)
	for {
		id, code, payload, err := readFrame(r, FrameBytesMax)
		if err != nil {
			return err
		}
		if id == pingAnswered {
			if sent := p.pinged.Swap(nil); sent != nil {
				p.roundTripNs.Store(int64(time.Since(*sent)))
			}
			continue
		}
		done := p.take(id)
		switch {
		case done == nil:
		case code == answerDone:
			done(payload, nil)
		case code == answerRefused:
			done(nil, fmt.Errorf("%w: %s", ErrRefused, payload))
		default:
			done(nil, fmt.Errorf("%w: %s had no room for it", ErrMaybeSent, p.addr))
		}
	}
}

var errAnswerPanics = errors.New("an answer could not be taken in: it caused a panic")

// heardReader counts the reads that return bytes.
type heardReader struct {
	net.Conn
	of *peer
}

// Read implements io.Reader.
func (r heardReader) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	if n > 0 {
		r.of.heard.Add(1)
		r.of.heardNs.Store(int64(time.Since(start)))
	}
	return n, err
}

// ping closes the connection if nothing comes from the peer. It counts ticks and not time, so that
// a pause of this process does not count as the peer's. During a write call the deadline of that
// call decides instead: the peer may be busy taking a large frame, and the pings wait behind it.
func (p *peer) ping(conn net.Conn) {
	ticker := time.NewTicker(p.t.pace.ping)
	defer ticker.Stop()
	for heard, silent := p.heard.Load(), 0; ; {
		select {
		case <-p.ctx.Done():
			return
		case <-ticker.C:
		}
		if now := p.heard.Load(); now != heard || p.out.writing.Load() {
			heard, silent = now, 0
		} else if silent++; silent > silentPings {
			conn.Close()
			return
		}
		now := time.Now()
		p.pinged.CompareAndSwap(nil, &now)
		p.mu.Lock()
		p.out.push(p.nextID, kindPing, nil, true)
		p.mu.Unlock()
	}
}

// fail ends the connection. Every waiting request gets an error that says whether the peer may have
// received it.
func (p *peer) fail(err error, pause time.Duration) {
	if p.t.ctx.Err() != nil {
		err = ErrClosed
	}
	p.mu.Lock()
	taken := p.out.close()
	p.failed = fmt.Errorf("%w: %s: %w", ErrNotSent, p.addr, err)
	p.retryAt = time.Now().Add(pause)
	notSent, waiting := p.failed, p.waiting
	p.waiting = nil
	p.mu.Unlock()
	for id, done := range waiting {
		if id > taken {
			p.giveUp(done, notSent)
		} else {
			// Not wrapped: err may be ErrNotSent about a later attempt.
			p.giveUp(done, fmt.Errorf("%w: %s: %v", ErrMaybeSent, p.addr, err))
		}
	}
}

// giveUp gives a waiting request its error. If done panics, the other requests still get theirs.
func (p *peer) giveUp(done func([]byte, error), err error) {
	defer p.t.cfg.Panics.Catch("a lost request", func() {})
	done(nil, err)
}
