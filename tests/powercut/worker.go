package powercut

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// workerEnv holds a worker's order. If it is set, this test binary runs as a worker.
const workerEnv = "POWERCUT_WORKER"

// order says what a worker is to do.
type order struct {
	Dir, Kind string
	Seed      uint64
	// Ops is the number of operations before the worker stops. After KillAfter operations it kills
	// itself in the middle of the next; with 0 it does not.
	Ops, KillAfter int
	// SyncsFail is the number of the sync, of each thread, from which on the disk fails; with 0 it
	// does not. The worker then ends, as lockstepd does.
	SyncsFail int
	// Fill is how many entries of FillBytes the worker appends first.
	Fill, FillBytes int
}

// reportPath is where a worker writes its lines. The test does not read them there but in the
// trace, in their place among the writes and syncs.
const reportPath = "/dev/null"

// Keys of Raft in its stable store.
var (
	keyTerm      = []byte("CurrentTerm")
	keyVoteTerm  = []byte("LastVoteTerm")
	keyCandidate = []byte("LastVoteCand")
)

// worker does to the stores what Raft would do, in the order in which Raft does it, at random.
type worker struct {
	order
	rng    *rand.Rand
	report *os.File
	stores *stores
	ids    int
	// term is the term of new entries.
	term uint64
	vote vote
	snap uint64
	// terms are the terms of the entries in the log.
	terms map[uint64]uint64
	// trimming is closed while no trim is running.
	trimming chan struct{}
}

// work runs the worker from start to end.
func work(text string) error {
	w := &worker{trimming: make(chan struct{}), terms: map[uint64]uint64{}}
	close(w.trimming)
	if err := json.Unmarshal([]byte(text), &w.order); err != nil {
		return err
	}
	w.rng = rand.New(rand.NewPCG(w.Seed, 11))
	var err error
	if w.report, err = os.OpenFile(reportPath, os.O_WRONLY, 0); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	for range w.Fill {
		if err := w.append(w.records(1, func() int { return w.FillBytes })); err != nil {
			return err
		}
	}
	for i := range w.Ops {
		if w.KillAfter > 0 && i == w.KillAfter {
			w.killSoon()
		}
		if err := w.step(); err != nil {
			return err
		}
	}
	<-w.trimming
	return w.stores.Close()
}

// killSoon kills the process at a random moment during the following operations.
func (w *worker) killSoon() {
	<-w.trimming
	after := time.Duration(w.rng.IntN(3000)) * time.Microsecond
	time.AfterFunc(after, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
}

func (w *worker) open() error {
	s, err := openStores(w.Dir, w.Kind)
	if err != nil {
		return err
	}
	w.stores = s
	found, err := observe(s)
	if err != nil {
		return err
	}
	w.terms = map[uint64]uint64{}
	for i, r := range found.records {
		w.terms[i] = r.Term
	}
	w.snap, w.vote = found.snap, found.vote
	// This is as after an election: nothing is written twice in one term.
	w.term = max(w.term, found.term, found.vote.Term, found.snapTerm) + 1
	for _, t := range w.terms {
		w.term = max(w.term, t+1)
	}
	if err := w.say(op{Verb: verbOpened, First: found.first, Last: found.last, Index: found.snap, Term: found.term, Vote: found.vote}); err != nil {
		return err
	}
	return w.setTerm()
}

func (w *worker) say(o op) error {
	_, err := w.report.Write(o.line())
	return err
}

// do reports an op, executes it, and reports that it was acknowledged.
func (w *worker) do(o op, act func() error) error {
	w.ids++
	o.ID = w.ids
	if err := w.say(o); err != nil {
		return err
	}
	if err := act(); err != nil {
		return fmt.Errorf("%s: %w", o.Verb, err)
	}
	return w.say(op{ID: o.ID, Acked: true})
}

func (w *worker) ends() (first, last uint64) {
	first, _ = w.stores.Log.FirstIndex()
	last, _ = w.stores.Log.LastIndex()
	return first, last
}

// end is the last index that Raft knows, from log or snapshot.
func (w *worker) end() uint64 {
	_, last := w.ends()
	return max(last, w.snap)
}

func (w *worker) step() error {
	switch n := w.rng.IntN(100); {
	case n < 58:
		return w.append(w.records(1+w.rng.IntN(5), w.sizes()))
	case n < 66:
		return w.setTerm()
	case n < 74:
		return w.castVote()
	case n < 84:
		return w.conflict()
	case n < 94:
		return w.compact()
	case n < 97:
		return w.install()
	default:
		<-w.trimming
		if err := w.stores.Close(); err != nil {
			return err
		}
		return w.open()
	}
}

// sizes chooses at random how long the entries of a batch are. With sizes of about three sectors,
// in steps of 8, a shorter batch may end where a frame of a longer, torn batch began. The remains
// of that frame must not come back.
func (w *worker) sizes() func() int {
	switch w.rng.IntN(4) {
	case 0:
		return func() int { return 40 + w.rng.IntN(300) }
	case 1:
		return func() int { return 1000 + w.rng.IntN(12000) }
	default:
		return func() int { return 1400 - 8*w.rng.IntN(2) }
	}
}

// records are the next n entries.
func (w *worker) records(n int, size func() int) []record {
	var all []record
	for i := range n {
		all = append(all, record{Index: w.end() + 1 + uint64(i), Term: w.term, Nonce: w.rng.Uint64() >> 20, SizeBytes: size()})
	}
	return all
}

func (w *worker) append(records []record) error {
	var logs []*raft.Log
	for _, r := range records {
		logs = append(logs, r.entry())
		w.terms[r.Index] = r.Term
	}
	return w.do(op{Verb: verbAppend, Records: records}, func() error { return w.stores.append(logs, w.rng.IntN(3000)) })
}

func (w *worker) setTerm() error {
	w.term++
	return w.do(op{Verb: verbTerm, Term: w.term}, func() error { return w.stores.Stable.SetUint64(keyTerm, w.term) })
}

// castVote writes a vote as Raft does, in two calls. It counts once the second has returned.
func (w *worker) castVote() error {
	w.vote = vote{w.term, fmt.Sprintf("node-%d", w.rng.IntN(5))}
	return w.do(op{Verb: verbVote, Vote: w.vote}, func() error {
		if err := w.stores.Stable.SetUint64(keyVoteTerm, w.vote.Term); err != nil {
			return err
		}
		return w.stores.Stable.Set(keyCandidate, []byte(w.vote.Candidate))
	})
}

// conflict replaces the end of the log, as for a new leader.
func (w *worker) conflict() error {
	<-w.trimming
	first, last := w.ends()
	first = max(first, w.snap+1)
	if last < first || last == 0 {
		return nil
	}
	from := max(first, last-min(last, uint64(w.rng.IntN(8))))
	if err := w.do(op{Verb: verbCut, Index: from}, func() error { return w.stores.Log.DeleteRange(from, last) }); err != nil {
		return err
	}
	if err := w.setTerm(); err != nil {
		return err
	}
	return w.append(w.records(1+w.rng.IntN(3), w.sizes()))
}

// compact makes a snapshot and deletes the entries that it covers from the log, in parallel with
// the appends that follow.
func (w *worker) compact() error {
	<-w.trimming
	first, last := w.ends()
	from := max(first, w.snap+1)
	if last < from || last == 0 {
		return nil
	}
	index := from + uint64(w.rng.Int64N(int64(last-from)+1))
	if err := w.snapshot(index, w.terms[index]); err != nil {
		return err
	}
	to := index - min(index, uint64(w.rng.IntN(6)))
	if to < first {
		return nil
	}
	w.ids++
	trim := op{ID: w.ids, Verb: verbTrim, Index: to}
	if err := w.say(trim); err != nil {
		return err
	}
	over := make(chan struct{})
	w.trimming = over
	go func() {
		defer close(over)
		if err := w.stores.Log.DeleteRange(first, to); err != nil {
			panic(err)
		}
		if err := w.say(op{ID: trim.ID, Acked: true}); err != nil {
			panic(err)
		}
	}()
	if to == last {
		// The log is empty for a moment, and the next append depends on its end.
		<-over
	}
	return nil
}

func (w *worker) snapshot(index, term uint64) error {
	return w.do(op{Verb: verbSnapshot, Index: index, Term: term}, func() error {
		w.stores.Snapshots.Own(index)
		sink, err := w.stores.Snapshots.Create(1, index, term, raft.Configuration{}, 0, nil)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(sink, snapshotText(index)); err != nil {
			return err
		}
		w.snap = index
		return sink.Close()
	})
}

func snapshotText(index uint64) string {
	return string(record{Index: index, SizeBytes: 3000}.entry().Data)
}

// install takes a snapshot from a leader that is far ahead, and continues after it.
func (w *worker) install() error {
	<-w.trimming
	if err := w.setTerm(); err != nil {
		return err
	}
	if err := w.snapshot(w.end()+50, w.term); err != nil {
		return err
	}
	return w.append(w.records(1+w.rng.IntN(3), w.sizes()))
}
