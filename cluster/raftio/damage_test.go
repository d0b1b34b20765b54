package raftio

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// ward is the folder of a node, which the test damages: two groups with logs of their own, or with
// one journal.
type ward struct {
	t      *testing.T
	dir    string
	kind   string
	shared bool
}

const (
	wardTerm = 3
	wardCut  = 60
)

// open opens the stores in the folder. ended records why the process would end, and refused is why
// the stores could not be opened.
func (w *ward) open() (stores map[uint32]*Stores, ended *fatals, refused error) {
	ended, stores = newFatals(), map[uint32]*Stores{}
	var j *Journal
	if w.shared {
		groups := []string{w.group(0), w.group(1)}
		if j, refused = OpenJournal(filepath.Join(w.dir, "journal"), w.kind, groups, ended.fatal, silent()); refused != nil {
			return nil, ended, refused
		}
		w.t.Cleanup(func() { go j.Close() }) // the Close of a store that has failed may never return
	}
	for g := range uint32(2) {
		s, err := OpenStores(&StoresConfig{
			Dir: w.group(g), Kind: w.kind, Journal: j, Group: g, Guards: Guards{StallLimit: time.Minute, Fatal: ended.fatal}, Log: silent(),
		})
		if err != nil {
			return nil, ended, err
		}
		w.t.Cleanup(func() { go s.Close() })
		stores[g] = s
	}
	return stores, ended, nil
}

func (w *ward) group(g uint32) string { return filepath.Join(w.dir, "raft", fmt.Sprint("shard-", g)) }

// fill writes terms, votes and entries, some of them long, cuts the front off the logs, and returns
// the entries that are left.
func (w *ward) fill() map[uint32][]*raft.Log {
	w.t.Helper()
	stores, _, err := w.open()
	must(w.t, err)
	draw := rand.New(rand.NewPCG(5, 5))
	all := map[uint32][]*raft.Log{}
	for g := range uint32(2) {
		must(w.t, stores[g].Stable.SetUint64(keyTerm, wardTerm))
		must(w.t, persistVote(stores[g].Stable, wardTerm, "n2:1"))
	}
	for i := uint64(1); i <= 300; {
		for g := range uint32(2) {
			batch := drawEntries(draw, i, 1+int(i%7))
			must(w.t, stores[g].Log.StoreLogs(batch))
			all[g] = append(all[g], batch...)
		}
		i += 1 + i%7
	}
	for g := range uint32(2) {
		snapshot(w.t, stores[g], wardCut+20, 1, 1, "a")
		must(w.t, stores[g].Log.DeleteRange(1, wardCut))
		all[g] = all[g][wardCut:]
		must(w.t, stores[g].Close())
	}
	return all
}

func drawEntries(draw *rand.Rand, first uint64, n int) []*raft.Log {
	var batch []*raft.Log
	for i := range uint64(n) {
		data := make([]byte, draw.IntN(200))
		if draw.IntN(30) == 0 {
			data = make([]byte, draw.IntN(50_000))
		}
		for at := range data {
			data[at] = byte(draw.Uint32())
		}
		batch = append(batch, &raft.Log{Index: first + i, Term: 1 + (first+i)/150, Type: raft.LogCommand, Data: data})
	}
	return batch
}

// copyOf returns a copy of the ward's folder.
func (w *ward) copyOf() *ward {
	w.t.Helper()
	c := *w
	c.dir = w.t.TempDir()
	must(w.t, os.CopyFS(c.dir, os.DirFS(w.dir)))
	return &c
}

// files returns all files except snapshots, which have a test of their own.
func (w *ward) files() []string {
	w.t.Helper()
	var all []string
	must(w.t, filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.Contains(path, SnapshotsDir) && filepath.Base(path) != journalMark {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// damage damages a file at a place where something was written, and returns a description of the
// damage.
func (w *ward) damage(draw *rand.Rand, path string) string {
	w.t.Helper()
	name := strings.TrimPrefix(path, w.dir)
	if draw.IntN(20) == 0 {
		must(w.t, os.Remove(path))
		return name + " is gone"
	}
	whole, err := os.ReadFile(path)
	must(w.t, err)
	used := len(bytes.TrimRight(whole, "\x00"))
	what, damaged := damageBytes(draw, whole[:used])
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(w.t, err)
	defer f.Close()
	_, err = f.WriteAt(damaged, 0)
	must(w.t, err)
	if len(damaged) < used {
		must(w.t, f.Truncate(int64(len(damaged))))
	}
	return name + ": " + what
}

// judge reads everything. What was written must be there unchanged, or the process must end with a
// reason.
func (w *ward) judge(what string, all map[uint32][]*raft.Log, live func() string) (refused bool) {
	w.t.Helper()
	stores, ended, err := w.open()
	if err != nil {
		return true
	}
	what += live()
	for g, entries := range all {
		if err := read(stores[g], entries); err != nil {
			if told := ended.all(); len(told) == 0 {
				w.t.Errorf("%s: the process goes on, with group %d: %v", what, g, err)
			}
			return true
		}
	}
	if told := ended.all(); len(told) > 0 {
		w.t.Errorf("%s: all is there, and the process ends: %v", what, told)
	}
	return false
}

// read compares a group with what was written to it.
func read(s *Stores, entries []*raft.Log) error {
	term, err := s.Stable.GetUint64(keyTerm)
	vote, err2 := s.Stable.GetUint64([]byte(keyVoteTerm))
	if err := errors.Join(err, err2); err != nil || term != wardTerm || vote != wardTerm {
		return fmt.Errorf("term %d, vote in %d, %v", term, vote, err)
	}
	first, last := s.log.ends()
	for i := first; i <= last; i++ {
		if err := s.Log.GetLog(i, &raft.Log{}); err != nil {
			return err
		}
	}
	if first != entries[0].Index || last != entries[len(entries)-1].Index {
		return fmt.Errorf("the log is %d to %d", first, last)
	}
	for _, want := range entries {
		var l raft.Log
		if err := s.Log.GetLog(want.Index, &l); err != nil || !bytes.Equal(l.Data, want.Data) || l.Term != want.Term {
			return fmt.Errorf("entry %d is another one: %v", want.Index, err)
		}
	}
	return s.Log.StoreLogs(commands(last+1, last+1, wardTerm))
}

// Any file may be damaged, before a store is opened or while it is open: a log of either kind, the
// groups' journal, or the file with the vote. Either everything that was written is there, or the
// process ends with a reason. It ends neither with a panic nor with a memory fault, and it does not
// continue with less.
func TestWhatIsDamagedIsSaidInWords(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	was := WALSegmentBytes
	WALSegmentBytes = 128 << 10 // several segments
	t.Cleanup(func() { WALSegmentBytes = was })
	const tries = 30
	nothing := func() string { return "" }
	draw := rand.New(rand.NewPCG(1, 1))
	for _, kind := range bothKinds {
		for _, shared := range []bool{false, true} {
			base := &ward{t: t, dir: t.TempDir(), kind: kind, shared: shared}
			all := base.fill()
			if base.copyOf().judge("nothing is damaged", all, nothing) {
				t.Fatal("refused")
			}
			refused := 0
			for n := range tries {
				w := base.copyOf()
				files := w.files()
				damage := func() string { return w.damage(draw, files[draw.IntN(len(files))]) }
				what := fmt.Sprintf("%s, shared %v: ", kind, shared)
				live := func() string { return "while it is open, " + damage() }
				if n%2 == 0 {
					what += damage()
					live = nothing
				}
				if w.judge(what, all, live) {
					refused++
				}
			}
			t.Logf("%s, shared %v: %d of %d damages were noticed; the others did no harm", kind, shared, refused, tries)
			if refused < tries/5 {
				t.Error("those are too few")
			}
		}
	}
}
