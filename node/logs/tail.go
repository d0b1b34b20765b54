package logs

import (
	"bytes"
	"sync"
)

// tailBytes is how much of the end of the log is kept.
const tailBytes = 256 << 10

// Tail is the end of a log. Its zero value is empty.
type Tail struct {
	mu sync.Mutex // guards ring, next
	// ring is a ring buffer; next is where the next byte goes.
	ring []byte
	next int
}

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := p[max(0, len(p)-tailBytes):]
	if room := tailBytes - len(t.ring); room > 0 {
		n := min(room, len(rest))
		t.ring = append(t.ring, rest[:n]...)
		rest = rest[n:]
	}
	for len(rest) > 0 {
		n := copy(t.ring[t.next:], rest)
		t.next = (t.next + n) % tailBytes
		rest = rest[n:]
	}
	return len(p), nil
}

// Lines is the end of the log, in whole lines.
func (t *Tail) Lines() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := append(append([]byte{}, t.ring[t.next:]...), t.ring[:t.next]...)
	if len(text) < tailBytes {
		return text
	}
	// The first line is incomplete.
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return text
}
