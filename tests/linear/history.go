package linear

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Outcome says what the client knows about the effect of a command.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"    // executed; Reply is the reply
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
	// Expect is the value that a register must have for Arg to replace it.
	Expect string `json:",omitempty"`
	// Call and Return are nanoseconds since the history began, by one monotonic clock: before the
	// first byte was sent and after the last byte was read.
	Call, Return int64
	Outcome      Outcome
	Reply        string `json:",omitempty"`
	Null         bool   `json:",omitempty"`
}

// History holds the actions of all clients. Several goroutines may use it.
type History struct {
	begin time.Time

	mu  sync.Mutex
	ops []Op
}

// NewHistory starts a history.
func NewHistory() *History { return &History{begin: time.Now()} }

// Now is the time since the history began.
func (h *History) Now() int64 { return time.Since(h.begin).Nanoseconds() }

// Add appends an op that has ended.
func (h *History) Add(o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// Ops is a copy of the ops so far.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Op(nil), h.ops...)
}

// writesSince counts the writes that were called after an instant and executed.
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

// Save writes the history into a folder, one line of JSON per op.
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
