package transport

import (
	"net"
	"sync/atomic"
	"time"
)

// Link is a connection that carries requests between this node and another.
type Link struct {
	// Addr is where an outgoing link was dialled, NodeID who made an incoming one.
	Addr, NodeID string
	Outgoing     bool
	Since        time.Time
	// QueuedBytes are what waits to be written to it.
	QueuedBytes int
	// RoundTrip is how long the last ping of an outgoing link took, with what it
	// waited behind; 0: none was answered yet.
	RoundTrip time.Duration
}

// standing says what is known about the peer that made a connection.
type standing uint8

const (
	// unknown: the handshake is under way.
	unknown standing = iota
	member
	stranger
	standings
)

// standingMax bounds the connections of each standing. Those that are unknown the
// hall bounds.
var standingMax = [standings]int{member: membersMax, stranger: strangersMax}

func (p *Peer) standing() standing {
	if p.Stranger {
		return stranger
	}
	return member
}

// incoming is an accepted connection.
type incoming struct {
	standing standing
	// Of one that carries requests: who makes them, since when, and the answers. out
	// is nil for all others.
	from  Peer
	since time.Time
	out   *outbox
	// heardNs is when a frame came last, since start; ended: none will come.
	heardNs atomic.Int64
	ended   atomic.Bool
}

// serving notes that a peer's requests are served, and returns the connection's record:
// one that nobody else sees, if the transport has dropped it meanwhile.
func (t *Transport) serving(conn net.Conn, from Peer, out *outbox) *incoming {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.inbound[conn]
	if in == nil {
		in = &incoming{}
	}
	in.from, in.since, in.out = from, time.Now(), out
	in.heard()
	return in
}

// heard notes that a frame has come.
func (in *incoming) heard() { in.heardNs.Store(int64(time.Since(start))) }

// Links returns the links there are now, in no order. Strangers' are left out.
func (t *Transport) Links() []Link {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Link
	for addr, p := range t.peers {
		p.mu.Lock()
		if p.failed == nil && !p.since.IsZero() {
			all = append(all, Link{Addr: addr, Outgoing: true, Since: p.since, QueuedBytes: p.out.queuedBytes(), RoundTrip: time.Duration(p.roundTripNs.Load())})
		}
		p.mu.Unlock()
	}
	for _, in := range t.inbound {
		if in.out != nil && !in.from.Stranger {
			all = append(all, Link{NodeID: in.from.NodeID, Since: in.since, QueuedBytes: in.out.queuedBytes()})
		}
	}
	return all
}

// queuedBytes is how much waits to be written.
func (o *outbox) queuedBytes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}
