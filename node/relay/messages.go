package relay

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/meta"
	"lockstep/node/member"
	"lockstep/proto/pubsub"
)

// KindPublish carries a published message between nodes: kind u8, length of the channel uv,
// channel, payload. The answer is the number of receivers, uv.
const KindPublish uint8 = 33

// receiversWait is how long PUBLISH waits for other nodes to count their receivers. Only the count
// depends on it, not the delivery of the message.
const receiversWait = time.Second

// Messages brings published messages to the subscribers of all nodes. The connection to a peer
// keeps the order, so messages of one publisher arrive in the order in which they were published. A
// node that cannot be reached loses them, like a client that is not connected.
type Messages struct {
	Member *member.Member
	hub    *pubsub.Hub
	// silent holds the addresses of peers that did not answer last time. They are still sent
	// messages, but PUBLISH does not wait for them.
	silent sync.Map
	// dropped counts messages that did not reach a peer.
	dropped atomic.Uint64
	// others are the other nodes of a view, kept until the view changes.
	others atomic.Pointer[otherNodes]
}

type otherNodes struct {
	view  *meta.View
	addrs []string
}

// othersOf are the addresses of all nodes of a view except self.
func (m *Messages) othersOf(view *meta.View, self meta.NodeID) []string {
	if kept := m.others.Load(); kept != nil && kept.view == view {
		return kept.addrs
	}
	o := &otherNodes{view: view}
	for _, node := range view.Nodes {
		if node.ID != self {
			o.addrs = append(o.addrs, node.PeerAddr)
		}
	}
	m.others.Store(o)
	m.silent.Range(func(addr, _ any) bool {
		if !slices.Contains(o.addrs, addr.(string)) {
			m.silent.Delete(addr)
		}
		return true
	})
	return o.addrs
}

// NewMessages returns a relay to the other nodes of a cluster, without any subscriber.
func NewMessages(m *member.Member) *Messages { return &Messages{Member: m, hub: pubsub.New()} }

// Dropped counts the messages that did not reach another node.
func (m *Messages) Dropped() uint64 { return m.dropped.Load() }

// Hub implements client.Channels.
func (m *Messages) Hub() *pubsub.Hub { return m.hub }

// Publish implements client.Channels.
func (m *Messages) Publish(kind pubsub.Kind, channel, payload []byte, later *pubsub.Later) (receivers func() int) {
	peers := m.othersOf(m.Member.Machine.View(), m.Member.Self.ID())
	count := &receiverCount{begun: time.Now(), done: make(chan struct{})}
	count.open.Store(1)
	if len(peers) > 0 {
		b := append(make([]byte, 0, len(channel)+len(payload)+12), byte(kind))
		b = binary.AppendUvarint(b, uint64(len(channel)))
		b = append(append(b, channel...), payload...)
		for _, addr := range peers {
			m.send(addr, b, count)
		}
	}
	count.sum.Add(int64(m.hub.PublishLater(kind, string(channel), bytes.Clone(payload), later)))
	count.answered()
	return count.wait
}

func (m *Messages) send(addr string, b []byte, count *receiverCount) {
	_, silent := m.silent.Load(addr)
	if !silent {
		count.open.Add(1)
	}
	begun := time.Now()
	m.Member.Transport.Go(addr, KindPublish, b, func(answer []byte, err error) {
		switch {
		case err != nil:
			m.dropped.Add(1)
			m.silent.Store(addr, true)
		case time.Since(begun) > receiversWait:
			m.silent.Store(addr, true)
		case silent:
			m.silent.Delete(addr)
		}
		if n, width := binary.Uvarint(answer); err == nil && width > 0 {
			count.sum.Add(int64(n))
		}
		if !silent {
			count.answered()
		}
	})
}

// Serve delivers a message from another node. A malformed message is dropped. Serve does not block.
func (m *Messages) Serve(payload []byte, reply func([]byte)) {
	n := 0
	if kind, channel, message, ok := readMessage(payload); ok {
		n = m.hub.Publish(kind, string(channel), message)
	}
	reply(binary.AppendUvarint(nil, uint64(n)))
}

// readMessage parses a KindPublish request. It returns false if the request is malformed.
func readMessage(payload []byte) (kind pubsub.Kind, channel, message []byte, ok bool) {
	if len(payload) < 2 || !pubsub.Kind(payload[0]).Publishable() {
		return 0, nil, nil, false
	}
	rest := payload[1:]
	length, width := binary.Uvarint(rest)
	if width <= 0 || length > uint64(len(rest)-width) {
		return 0, nil, nil, false
	}
	rest = rest[width:]
	return pubsub.Kind(payload[0]), rest[:length], rest[length:], true
}

// receiverCount adds up the receivers of one message.
type receiverCount struct {
	// begun is when the message was sent. The messages of a pipeline share one waiting time.
	begun     time.Time
	sum, open atomic.Int64
	done      chan struct{}
}

func (c *receiverCount) answered() {
	if c.open.Add(-1) == 0 {
		close(c.done)
	}
}

func (c *receiverCount) wait() int {
	select {
	case <-c.done:
	default:
		t := time.NewTimer(receiversWait - time.Since(c.begun))
		defer t.Stop()
		select {
		case <-c.done:
		case <-t.C:
		}
	}
	return int(c.sum.Load())
}
