package linear

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Outcome says what is known of a command.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"    // executed; Reply is the answer
	Unknown Outcome = "unknown" // the connection broke, or the server said so
	Refused Outcome = "refused" // the server said that it was not executed
)

// Op is one command of one client.
type Op struct {
	Client int
	Node   string
	Name   string
	Key    string
	Arg    string `json:",omitempty"`
	// Expect is what a register must be for Arg to take its place.
	Expect string `json:",omitempty"`
	// Call and Return are nanoseconds since the history began: before the first
	// byte was sent and after the last was read, by one monotonic clock.
	Call, Return int64
	Outcome      Outcome
	Reply        string `json:",omitempty"`
	Null         bool   `json:",omitempty"`
}

// History is what all clients did. It may be used by several goroutines.
type History struct {
	begin time.Time

	mu  sync.Mutex
	ops []Op
}

// NewHistory begins a history now.
func NewHistory() *History { return &History{begin: time.Now()} }

// Now is the time since the history began.
func (h *History) Now() int64 { return time.Since(h.begin).Nanoseconds() }

// Add appends an op that has ended.
func (h *History) Add(o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// Ops is a copy of what has been added.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Op(nil), h.ops...)
}

// writesSince counts the writes that were called after an instant and done.
func (h *History) writesSince(since int64) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for i := len(h.ops) - 1; i >= 0 && h.ops[i].Return >= since; i-- {
		o := &h.ops[i]
		if o.Outcome == Done && o.isWrite() && o.Call >= since {
			n++
		}
	}
	return n
}

// Save writes the history into a folder, a line of JSON per op.
func (h *History) Save(dir string) error {
	f, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	for _, o := range h.Ops() {
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	return w.Flush()
}
