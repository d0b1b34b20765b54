package client

import (
	"sync"

	"lockstep/engine/reply"
	"lockstep/proto/pubsub"
	"lockstep/proto/resp"
	"lockstep/proto/tracking"
)

// pushes are the messages that reach a client outside the order of its requests:
// messages of its channels, and invalidations. They are written between replies.
// While a batch is answered they wait (they are held), so that the confirmation of
// SUBSCRIBE comes before the first message, and a value before its invalidation.
type pushes struct {
	conn     *resp.Guard
	registry *Registry
	mu       sync.Mutex // guards what follows
	// proto is the protocol the client speaks, listens that it has subscribed to
	// something, monitors that it sees what others run.
	proto    int
	listens  bool
	monitors bool
	held     bool
	// waiting are the messages that came while held, of waitingBytes. They are
	// encoded when they are sent, because the protocol may have changed by then.
	waiting      []message
	waitingBytes int
	// redirect is the client that gets the invalidations, or 0 if this client
	// does. broken is true if that client is gone.
	redirect uint64
	broken   bool
	// redirected are invalidations that wait to be passed to another client, of
	// about redirectedBytes.
	redirected      []redirected
	redirectedBytes int
}

// message is sent to a client outside the order of its requests.
type message interface {
	// Bytes is the message in this protocol version.
	Bytes(proto int) []byte
}

// line is a message that is the same in both protocols.
type line []byte

// Bytes implements message.
func (l line) Bytes(int) []byte { return l }

// invalidation is a message that keys have changed: keys that this client has read or,
// if the message is redirected, that another client has read. A client of RESP2 is never
// sent its own, and another's only while it is subscribed.
type invalidation struct {
	*tracking.Message
	forwarded bool
}

// redirectBroken is the message that the client which was to get the invalidations is gone. RESP2
// has no such message.
type redirectBroken []byte

// Bytes implements message.
func (b redirectBroken) Bytes(proto int) []byte {
	if proto != reply.RESP3 {
		return nil
	}
	return b
}

// redirected is an invalidation for another client.
type redirected struct {
	to uint64
	m  *tracking.Message
}

// pushesHeldMax bounds the messages that wait while a batch is answered. A client
// that reaches it is cut off, like one that does not read.
const pushesHeldMax = 32 << 20

// messageOverhead is the memory of a waiting message beside its bytes.
const messageOverhead = 32

// Push implements pubsub.Subscriber.
func (p *pushes) Push(m *pubsub.Message) (kick bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queueLocked(m)
}

// Kick implements pubsub.Subscriber.
func (p *pushes) Kick() { p.conn.Kick() }

// sendLocked sends a message at once.
func (p *pushes) sendLocked(m message) {
	if p.queueLocked(m) {
		go p.conn.Kick()
	}
}

// queueLocked queues a message. kick reports whether Kick must be called.
func (p *pushes) queueLocked(m message) (kick bool) {
	b := p.bytesLocked(m)
	if !p.held {
		if len(b) > 0 {
			// An error ends the connection; the client's own goroutine notices
			// that.
			kick, _ = p.conn.WriteLater(b)
		}
		return kick
	}
	if p.waitingBytes += len(b) + messageOverhead; p.waitingBytes > pushesHeldMax {
		p.conn.CutOff(int64(p.waitingBytes))
		return false
	}
	p.waiting = append(p.waiting, m)
	return false
}

// bytesLocked is a message in the client's current protocol version, or empty if
// the client must not get it.
func (p *pushes) bytesLocked(m message) []byte {
	if i, ok := m.(invalidation); ok && p.proto != reply.RESP3 && !(i.forwarded && p.listens) {
		return nil
	}
	return m.Bytes(p.proto)
}

// Invalidate implements tracking.Listener. An invalidation for another client also
// waits until this client has its replies.
func (p *pushes) Invalidate(m *tracking.Message) {
	p.mu.Lock()
	to := p.redirect
	switch {
	case to == 0:
		p.sendLocked(invalidation{m, false})
	case p.held:
		if p.redirectedBytes += m.Size(); p.redirectedBytes > pushesHeldMax {
			p.conn.CutOff(int64(p.redirectedBytes))
			break
		}
		p.redirected = append(p.redirected, redirected{to, m})
	default:
		p.mu.Unlock()
		p.pass(to, m)
		return
	}
	p.mu.Unlock()
}

// pass hands an invalidation to another client. If that client is gone, this one is
// sent a message.
func (p *pushes) pass(to uint64, m *tracking.Message) {
	if other := p.registry.Find(to); other != nil {
		other.pushes.sendRedirected(m)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.redirect != to {
		return
	}
	p.broken = true
	if p.proto == reply.RESP3 {
		w := reply.NewWriter(p.proto)
		w.Push(2)
		w.BulkString("tracking-redir-broken")
		w.Int(int64(to))
		p.sendLocked(redirectBroken(w.Bytes()))
	}
}

// sendRedirected sends an invalidation that was redirected to this client.
func (p *pushes) sendRedirected(m *tracking.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sendLocked(invalidation{m, true})
}

// hold makes pushes wait until release.
func (p *pushes) hold() {
	p.mu.Lock()
	p.held = true
	p.mu.Unlock()
}

// claim returns the waiting messages, which the caller writes among the replies.
func (p *pushes) claim() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claimLocked()
}

func (p *pushes) claimLocked() []byte {
	all := make([]byte, 0, p.waitingBytes)
	for _, m := range p.waiting {
		all = append(all, p.bytesLocked(m)...)
	}
	p.waiting, p.waitingBytes = nil, 0
	return all
}

// release writes the waiting messages, and lets further ones through.
func (p *pushes) release() {
	p.mu.Lock()
	p.held = false
	if len(p.waiting) > 0 {
		_, _ = p.conn.Write(p.claimLocked())
	}
	list := p.redirected
	p.redirected, p.redirectedBytes = nil, 0
	p.mu.Unlock()
	for _, r := range list {
		p.pass(r.to, r.m)
	}
}

// bytes is the size of the messages that wait for the current batch to be answered.
func (p *pushes) bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.waitingBytes + p.redirectedBytes)
}

// forget drops the waiting messages.
func (p *pushes) forget() {
	p.mu.Lock()
	p.waiting, p.waitingBytes = nil, 0
	p.mu.Unlock()
}

// speak sets the protocol version.
func (p *pushes) speak(proto int) {
	p.mu.Lock()
	p.proto = proto
	p.mu.Unlock()
}

// listen sets whether the client has subscriptions.
func (p *pushes) listen(yes bool) {
	p.mu.Lock()
	p.listens = yes
	p.mu.Unlock()
}

// monitor sets whether the client monitors.
func (p *pushes) monitor(yes bool) {
	p.mu.Lock()
	p.monitors = yes
	p.mu.Unlock()
}

// monitoring reports whether the client monitors.
func (p *pushes) monitoring() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.monitors
}

// aim chooses the client that gets the invalidations.
func (p *pushes) aim(redirect uint64) {
	p.mu.Lock()
	p.redirect, p.broken = redirect, false
	p.mu.Unlock()
}

func (p *pushes) isBroken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}
