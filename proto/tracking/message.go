package tracking

import (
	"sync"

	"lockstep/engine/reply"
)

// Message reports that keys have changed. It is encoded once for all clients that speak
// the same protocol.
type Message struct {
	// keys are nil for "all keys".
	keys []string

	resp2, resp3 sync.Once
	bytes        [2][]byte
}

// Channel is the channel of the messages in RESP2.
const Channel = "__redis__:invalidate"

func newMessage(keys []string) *Message { return &Message{keys: keys} }

// Bytes is the message as clients of the protocol get it: a push in RESP3, a
// message of Channel in RESP2. It must not be changed.
func (m *Message) Bytes(proto int) []byte {
	once, i := &m.resp2, 0
	if proto == reply.RESP3 {
		once, i = &m.resp3, 1
	}
	once.Do(func() { m.bytes[i] = m.encode(proto) })
	return m.bytes[i]
}

// Size is the approximate size of the message in bytes.
func (m *Message) Size() int {
	n := 64
	for _, key := range m.keys {
		n += len(key) + 16
	}
	return n
}

func (m *Message) encode(proto int) []byte {
	w := reply.NewWriter(proto)
	if proto == reply.RESP3 {
		w.Push(2)
		w.BulkString("invalidate")
	} else {
		w.Push(3)
		w.BulkString("message")
		w.BulkString(Channel)
	}
	if m.keys == nil {
		w.Null()
		return w.Bytes()
	}
	w.Array(len(m.keys))
	for _, key := range m.keys {
		w.BulkString(key)
	}
	return w.Bytes()
}

// Doubt is a message about a key that may have changed unnoticed.
func Doubt(key []byte) *Message { return newMessage([]string{string(key)}) }
