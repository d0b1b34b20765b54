package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// disk is a store that counts its calls, can be made to wait, and fails on demand.
type disk struct {
	*raft.InmemStore
	mu      sync.Mutex
	appends int
	gate    chan struct{}
	entered chan struct{}
	err     error
}

func newDisk() *disk { return &disk{InmemStore: raft.NewInmemStore()} }

func (d *disk) StoreLogs(logs []*raft.Log) error {
	d.mu.Lock()
	d.appends++
	gate, err := d.gate, d.err
	d.mu.Unlock()
	if gate != nil {
		d.entered <- struct{}{}
		<-gate
	}
	if err != nil {
		return err
	}
	// The entries in the store must not change when the caller's memory does.
	kept := make([]*raft.Log, len(logs))
	for i, l := range logs {
		c := *l
		c.Data, c.Extensions = bytes.Clone(l.Data), bytes.Clone(l.Extensions)
		kept[i] = &c
	}
	return d.InmemStore.StoreLogs(kept)
}

func opened(t testing.TB, store raft.LogStore) *Journal {
	t.Helper()
	j, err := Open(store)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func entries(first, last, term uint64) (logs []*raft.Log) {
	for i := first; i <= last; i++ {
		logs = append(logs, &raft.Log{
			Index: i, Term: term, Type: raft.LogCommand,
			Data: fmt.Appendf(nil, "%d of %d", i, term), Extensions: []byte{byte(i)},
		})
	}
	return logs
}

// model is the expected contents of a group's log: the terms of its entries.
type model struct {
	first uint64
	terms []uint64
}

func (m *model) last() uint64 { return m.first + uint64(len(m.terms)) - 1 }

// same compares a log with its model.
func (m *model) same(t *testing.T, l *Log) {
	t.Helper()
	first, last := l.ends()
	if len(m.terms) == 0 {
		if first != 0 || last != 0 {
			t.Fatalf("group %d has %d to %d and should be empty", l.group, first, last)
		}
		return
	}
	if last != m.last() || first != m.first {
		t.Fatalf("group %d has %d to %d, not %d to %d", l.group, first, last, m.first, m.last())
	}
	for i, term := range m.terms {
		want := entries(m.first+uint64(i), m.first+uint64(i), term)[0]
		var got raft.Log
		must(t, l.GetLog(want.Index, &got))
		if got.Index != want.Index || got.Term != want.Term || got.Type != want.Type ||
			!bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Extensions, want.Extensions) {
			t.Fatalf("group %d has %+v, not %+v", l.group, got, want)
		}
	}
	for _, i := range []uint64{m.last() + 1, m.last() + 1000} {
		if err := l.GetLog(i, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("entry %d of group %d: %v", i, l.group, err)
		}
	}
}

// Whatever groups append and delete, with crashes in between, each finds its log again, and the
// journal stays about as long as its entries.
func TestGroupsKeepTheirLogs(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		store := newDisk()
		j := opened(t, store)
		j.slackBytes = 32 << 10
		models := make([]model, 5)
		for i := range models {
			models[i].first = 1
		}
		for range 4000 {
			// Group 0 writes much, the last one rarely.
			g := min(rng.IntN(len(models)), rng.IntN(len(models)))
			m, l := &models[g], j.Group(uint32(g))
			switch n := rng.IntN(100); {
			case n < 80:
				from, term := m.first+uint64(len(m.terms)), uint64(rng.IntN(1000))
				count := uint64(1 + rng.IntN(8))
				must(t, l.StoreLogs(entries(from, from+count-1, term)))
				for range count {
					m.terms = append(m.terms, term)
				}
			case n < 90 && len(m.terms) > 50:
				to := m.first + uint64(rng.IntN(len(m.terms)+1))
				must(t, l.DeleteRange(m.first, to-1))
				m.terms, m.first = m.terms[to-m.first:], to
			case n < 95 && len(m.terms) > 0:
				keep := uint64(rng.IntN(len(m.terms)))
				if keep == 0 {
					continue
				}
				must(t, l.DeleteRange(m.first+keep, m.last()))
				m.terms = m.terms[:keep]
			case n == 95:
				must(t, j.Drop(uint32(g)))
				m.terms = nil
			case n == 96 && len(m.terms) > 0:
				// As after a snapshot was installed past the end of the log.
				must(t, l.DeleteRange(m.first, m.last()))
				m.first, m.terms = m.last()+100, []uint64{7}
				must(t, l.StoreLogs(entries(m.first, m.first, 7)))
			case n >= 98:
				j = opened(t, store)
				j.slackBytes = 32 << 10
				for g := range models {
					models[g].same(t, j.Group(uint32(g)))
				}
			}
		}
		for g := range models {
			models[g].same(t, j.Group(uint32(g)))
		}
		if s := &j.space; s.bytes > 3*s.liveBytes+2*j.slackBytes+pruneBlocksMin*blockRecordsMax*100 {
			t.Errorf("seed %d: the journal has %d bytes, of which %d are in use", seed, s.bytes, s.liveBytes)
		}
		before := j.space
		j = opened(t, store)
		for g := range models {
			models[g].same(t, j.Group(uint32(g)))
		}
		if j.space.liveBytes != before.liveBytes || j.space.end != before.end {
			t.Errorf("seed %d: read anew, %d bytes are in use and the end is %d; it was %d and %d",
				seed, j.space.liveBytes, j.space.end, before.liveBytes, before.end)
		}
	}
}

// waiting waits until a number of appends wait.
func waiting(t *testing.T, j *Journal, appends int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		j.mu.Lock()
		n := len(j.queue)
		j.mu.Unlock()
		if n >= appends {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d appends wait", n)
		}
	}
}

// Entries that groups append while another append is being written are written together.
func TestAppendsThatWaitAreWrittenTogether(t *testing.T) {
	const groups = 16
	store := newDisk()
	j := opened(t, store)
	store.gate, store.entered = make(chan struct{}), make(chan struct{}, groups)
	var running sync.WaitGroup
	store1 := func(g uint32) {
		running.Go(func() {
			if err := j.Group(g).StoreLogs(entries(1, 3, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	store1(0)
	<-store.entered
	for g := uint32(1); g < groups; g++ {
		store1(g)
	}
	waiting(t, j, groups-1)
	close(store.gate)
	running.Wait()
	if store.appends != 2 {
		t.Errorf("%d appends to the disk, not 2", store.appends)
	}
	for g := range uint32(groups) {
		m := model{first: 1, terms: []uint64{1, 1, 1}}
		m.same(t, j.Group(g))
	}
}

// Groups append, read and delete at the same time.
func TestGroupsWorkSideBySide(t *testing.T) {
	store := newDisk()
	j := opened(t, store)
	j.slackBytes = 16 << 10
	var running sync.WaitGroup
	for g := range uint32(6) {
		l := j.Group(g)
		appended := make(chan uint64, 1)
		running.Go(func() {
			defer close(appended)
			for i := uint64(1); i < 3000; i += 3 {
				if err := l.StoreLogs(entries(i, i+2, uint64(g))); err != nil {
					t.Error(err)
					return
				}
				select {
				case appended <- i + 2:
				default:
				}
			}
		})
		running.Go(func() {
			for last := range appended {
				if g%2 == 0 && last > 100 {
					if err := l.DeleteRange(0, last-100); err != nil {
						t.Error(err)
					}
				}
				var e raft.Log
				if err := l.GetLog(last, &e); err != nil || e.Term != uint64(g) || e.Index != last {
					t.Errorf("entry %d of group %d: %+v, %v", last, g, e, err)
				}
			}
		})
	}
	running.Wait()
	before := j
	j = opened(t, store)
	for g := range uint32(6) {
		_, last := j.Group(g).ends()
		if _, want := before.Group(g).ends(); last != want {
			t.Errorf("group %d ends at %d, not %d", g, last, want)
		}
	}
}

func TestAfterAFailureNothingIsWritten(t *testing.T) {
	store := newDisk()
	j := opened(t, store)
	must(t, j.Group(1).StoreLogs(entries(1, 1, 1)))
	store.err = errors.New("no space left")
	if err := j.Group(1).StoreLogs(entries(2, 2, 1)); !errors.Is(err, store.err) {
		t.Error(err)
	}
	failure := store.err
	store.err = nil
	if err := j.Group(2).StoreLogs(entries(1, 1, 1)); !errors.Is(err, failure) {
		t.Errorf("an append after a failure: %v", err)
	}
}

func TestWrongRangesAreRefused(t *testing.T) {
	l := opened(t, newDisk()).Group(1)
	must(t, l.StoreLogs(entries(5, 10, 1)))
	for what, err := range map[string]error{
		"a gap":               l.StoreLogs(entries(12, 12, 1)),
		"a gap in an append":  l.StoreLogs(append(entries(11, 11, 1), entries(13, 13, 1)...)),
		"a cut in the middle": l.DeleteRange(6, 7),
	} {
		if err == nil {
			t.Errorf("%s is not refused", what)
		}
	}
	m := model{first: 5, terms: []uint64{1, 1, 1, 1, 1, 1}}
	m.same(t, l)
}

// An entry replaces the entry at its index and all behind it, also when the journal is opened
// again.
func TestAnEntryInThePlaceOfOthersEndsTheLog(t *testing.T) {
	store := newDisk()
	j := opened(t, store)
	must(t, j.Group(1).StoreLogs(entries(1, 5, 1)))
	must(t, j.Group(1).StoreLogs(entries(3, 3, 2)))
	m := model{first: 1, terms: []uint64{1, 1, 2}}
	m.same(t, j.Group(1))
	m.same(t, opened(t, store).Group(1))
}

// A record that is damaged or in the wrong place is detected when the journal is opened, and when
// the record is read.
func TestDamageIsFound(t *testing.T) {
	for what, damage := range map[string]func(*raft.Log){
		"kind":  func(r *raft.Log) { r.Extensions[0] ^= 1 },
		"group": func(r *raft.Log) { r.Extensions[1] ^= 1 },
		"index": func(r *raft.Log) { r.Extensions[5] ^= 1 },
		"sum":   func(r *raft.Log) { r.Extensions[13] ^= 1 },
		"short": func(r *raft.Log) { r.Extensions = r.Extensions[:5] },
		// The header claims to belong here, but does not.
		"place": func(r *raft.Log) { r.Extensions = header{entryOf, 1, 2}.appendTo(nil, 3) },
	} {
		store := newDisk()
		j := opened(t, store)
		must(t, j.Group(1).StoreLogs(entries(1, 3, 1)))
		var r raft.Log
		must(t, store.GetLog(2, &r))
		r.Extensions = bytes.Clone(r.Extensions)
		damage(&r)
		must(t, store.InmemStore.StoreLog(&r))
		if err := j.Group(1).GetLog(2, &r); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: read: %v", what, err)
		}
		if _, err := Open(store); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: opened: %v", what, err)
		}
	}
}

// If a part of one group is missing, the logs of the others are of no use either.
func TestMissingEntryIsFound(t *testing.T) {
	store := newDisk()
	j := opened(t, store)
	must(t, j.Group(1).StoreLogs(entries(1, 1, 1)))
	b := builder{next: j.space.end}
	b.entry(entryOf, 1, entries(3, 3, 1)[0])
	must(t, store.StoreLogs(b.pointers()))
	if _, err := Open(store); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}
