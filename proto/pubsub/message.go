package pubsub

import (
	"sync"

	"lockstep/engine/reply"
)

// Message is a message to the subscribers of one name. It is encoded once for all
// subscribers with the same protocol version.
type Message struct {
	Kind Kind
	// Pattern is set for kind Pattern.
	Pattern, Channel string
	Payload          []byte

	resp2, resp3 sync.Once
	bytes        [2][]byte
}

// Bytes is the message in this protocol version. It must not be changed.
func (m *Message) Bytes(proto int) []byte {
	once, i := &m.resp2, 0
	if proto == reply.RESP3 {
		once, i = &m.resp3, 1
	}
	once.Do(func() { m.bytes[i] = m.encode(proto) })
	return m.bytes[i]
}

func (m *Message) encode(proto int) []byte {
	w := reply.NewWriter(proto)
	switch m.Kind {
	case Pattern:
		w.Push(4)
		w.BulkString("pmessage")
		w.BulkString(m.Pattern)
	case Shard:
		w.Push(3)
		w.BulkString("smessage")
	default:
		w.Push(3)
		w.BulkString("message")
	}
	w.BulkString(m.Channel)
	w.Bulk(m.Payload)
	return w.Bytes()
}
