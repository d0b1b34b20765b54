package powercut

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/hashicorp/raft"
)

// record is one entry of the log, told apart from every other that was ever
// written, under the same index or another.
type record struct {
	Index, Term uint64
	// Nonce is new for each attempt.
	Nonce uint64
	// SizeBytes is the length of the entry's data.
	SizeBytes int
}

// letters keep traces short: strace prints them as they are.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// entry is the record as Raft knows it. All of its bytes follow from the
// record, so that one that comes back can be checked byte by byte.
func (r record) entry() *raft.Log {
	head := fmt.Appendf(nil, "%d %d %d %d ", r.Index, r.Term, r.Nonce, r.SizeBytes)
	data := make([]byte, max(r.SizeBytes, len(head)))
	rng := rand.New(rand.NewPCG(r.Nonce, r.Index))
	for i := copy(data, head); i < len(data); {
		for word, n := rng.Uint64(), 0; n < 10 && i < len(data); n++ {
			data[i] = letters[word&63]
			word >>= 6
			i++
		}
	}
	return &raft.Log{Index: r.Index, Term: r.Term, Type: raft.LogCommand, Data: data}
}

// recordOf recognizes an entry, and checks that it is whole.
func recordOf(l *raft.Log) (r record, err error) {
	if _, err := fmt.Sscanf(string(l.Data[:min(len(l.Data), 100)]), "%d %d %d %d ", &r.Index, &r.Term, &r.Nonce, &r.SizeBytes); err != nil {
		return r, fmt.Errorf("entry %d is none that was written: %.60q", l.Index, l.Data)
	}
	want := r.entry()
	if l.Index != want.Index || l.Term != want.Term || l.Type != want.Type || string(l.Data) != string(want.Data) {
		return r, fmt.Errorf("entry %d of term %d says it is %d of term %d, or is damaged", l.Index, l.Term, r.Index, r.Term)
	}
	return r, nil
}

// vote is what a node must never forget.
type vote struct {
	Term      uint64
	Candidate string
}

// verbs of an op.
const (
	// verbOpened reports what was found when the stores had been opened.
	verbOpened = "opened"
	verbAppend = "append"
	// verbCut deletes from an index to the end, as for a new leader's entries.
	verbCut = "cut"
	// verbTrim deletes from the front up to an index, behind a snapshot.
	verbTrim     = "trim"
	verbSnapshot = "snapshot"
	verbTerm     = "term"
	verbVote     = "vote"
)

// op is what the worker does next, or what it has found. It is written as a
// line when it begins, and as another when it was acknowledged.
type op struct {
	ID   int
	Verb string
	// Index is the snapshot's, the first to be cut off, or the last to be trimmed.
	Index   uint64   `json:",omitempty"`
	Term    uint64   `json:",omitempty"`
	Records []record `json:",omitempty"`
	Vote    vote
	// First and Last are the ends of the log that was found.
	First, Last uint64
	// Acked marks the line that says that the op with this ID was acknowledged.
	Acked bool `json:",omitempty"`
}

func (o op) line() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}
