package transport

import (
	"net"
	"sync/atomic"
	"time"
)

// Link is a connection that carries requests between this node and another.
type Link struct {
	// Addr is the address that an outgoing link was dialled at; NodeID is the node that made an
	// incoming link.
	Addr, NodeID string
	Outgoing     bool
	Since        time.Time
	// QueuedBytes is how many bytes wait to be written.
	QueuedBytes int
	// RoundTrip is how long the last ping of an outgoing link took, including the time that it
	// waited to be written. It is 0 if no ping was answered yet.
	RoundTrip time.Duration
}

// standing is what this node knows about the peer that made a connection.
type standing uint8

const (
	// unknown: the handshake is under way.
	unknown standing = iota
	member
	stranger
	standings
)

// standingMax bounds the connections of each standing. The hall bounds the unknown ones.
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
	// These are set for a connection that carries requests: the peer, since when it sends requests,
	// and the answers to it. out is nil for all other connections.
	from  Peer
	since time.Time
	out   *outbox
	// heardNs is when the last frame came, since start. ended is true if no more will come.
	heardNs atomic.Int64
	ended   atomic.Bool
}

// serving records that requests of a peer are served, and returns the connection's record. If the
// transport has dropped the connection meanwhile, it returns a record that nothing else uses.
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

// heard records that a frame has come.
func (in *incoming) heard() { in.heardNs.Store(int64(time.Since(start))) }

// Links returns the current links, in no order. It leaves out links of strangers.
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

// queuedBytes returns how many bytes wait to be written.
func (o *outbox) queuedBytes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}
