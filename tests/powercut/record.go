package powercut

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/hashicorp/raft"
)

// record is one entry of the log. It differs from every other entry that was ever written, under
// the same index or another.
type record struct {
	Index, Term uint64
	// Nonce is different for each attempt.
	Nonce uint64
	// SizeBytes is the length of the entry's data.
	SizeBytes int
}

// letters keep traces short, because strace prints them without escapes.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// entry is the record as an entry of Raft. All of its bytes follow from the record, so that an
// entry that is read can be checked byte by byte.
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

// recordOf returns the record of an entry, and checks that the entry is undamaged.
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

// vote is a vote, which a node must never forget.
type vote struct {
	Term      uint64
	Candidate string
}

// Verbs of an op.
const (
	// verbOpened reports the content that was found when the stores had been opened.
	verbOpened = "opened"
	verbAppend = "append"
	// verbCut deletes from an index to the end, to make room for a new leader's entries.
	verbCut = "cut"
	// verbTrim deletes from the front up to an index, after a snapshot.
	verbTrim     = "trim"
	verbSnapshot = "snapshot"
	verbTerm     = "term"
	verbVote     = "vote"
)

// op is the worker's next operation, or what it has found. It is written as one line when it
// begins, and as another when it was acknowledged.
type op struct {
	ID   int
	Verb string
	// Index is that of the snapshot, of the first entry to be cut, or of the last to be trimmed.
	Index   uint64   `json:",omitempty"`
	Term    uint64   `json:",omitempty"`
	Records []record `json:",omitempty"`
	Vote    vote
	// First and Last are the ends of the log that was found.
	First, Last uint64
	// Acked marks a line that says that the op with this ID was acknowledged.
	Acked bool `json:",omitempty"`
}

func (o op) line() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}
