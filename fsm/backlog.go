package fsm

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// backlog counts the work of long txns, so that a replica can compute, when a txn's turn comes, how
// much work was still outstanding in the log before it when the leader made its entry. If that is
// more than outstanding-work-max-ms, no replica runs the txn.
//
// Work is summed by row: one row for each lock slot (work of txns that held the slot exclusively),
// the global row (work of txns that held everything), and one row for all work. When a txn holds
// its locks, all earlier txns of those rows have ended and no later one has started, so the sums of
// its rows are the same on every replica. The leader writes into each entry how much work it has
// seen done (told), and a txn uses the told values at its position in the log. The difference is
// the work that had not been done when the entry was made.
//
//	holds everything:  all - told all
//	holds lock slots:  the maximum of (slot + global) - (told slot + told global)
//
// Txns that lock only keys run in parallel, so each would find no work before it on its own lock
// slots. Some txns may take long whatever their arguments are. The leader names a few of these in
// the entry that may run in parallel. The others also hold the lane, a row behind the last lock
// slot: they run one after the other, and count as the work of one slot.
//
// So a script that was cheap a thousand times and is expensive today delays other txns by at most
// the limit plus one script. The leader's estimate of what scripts take (package shard) only keeps
// txns from being refused here. Nothing has to be undone, because a refused txn has not started.
// There is no other way to end a txn that is in the log: at any other moment the replicas are at
// different positions.
type backlog struct {
	mu sync.Mutex // guards the fields below
	// done is the work of the txns up to the open cut, or of all txns if no cut is open. later is
	// the work of the txns after the open cut.
	done, later rowWork
	// cutNo is the number of the last txn before the open cut. cutting reports whether a cut is
	// open.
	cutNo   uint64
	cutting bool
	// told is the work that leaders had seen done, up to the last entry whose tickets were taken.
	told rowWork
	// untold are the rows in which tellLeast of work has been done since told was
	// last raised.
	untold map[Row]struct{}
	// untoldRows is the length of untold.
	untoldRows atomic.Int64
}

// Row is a lock slot, or one of the two rows that sum up more than one.
type Row int32

const (
	// rowAll is the work of txns that held any row, rowGlobal the work of txns that held all of
	// them.
	rowAll    Row = -2
	rowGlobal Row = -1
	rowFirst      = rowAll
)

// rowWork is work by row.
type rowWork map[Row]uint64

// Told is the work that a leader reports as done in a row.
type Told struct {
	Row  Row
	Work uint64
}

const (
	// FreeMax is how many long txns leaders let into the log at a time without the lane.
	FreeMax = 64
	// tellLeast is how much work must be done in a row before leaders report it. A txn may
	// overestimate the work before it by this much.
	tellLeast = command.WorkSecond / 100
	// toldRowsMax bounds the rows that one entry reports.
	toldRowsMax = 48
	// workLeast is the least work that is counted for a txn that was not expected to take long.
	workLeast = command.WorkSecond / 10_000
)

func newBacklog() *backlog {
	return &backlog{done: rowWork{}, later: rowWork{}, told: rowWork{}, untold: map[Row]struct{}{}}
}

// sum is the work done in a row. The caller holds mu.
func (b *backlog) sum(r Row) uint64 { return b.done[r] + b.later[r] }

// mark is the told work at a txn's position in the log.
type mark struct {
	all, global uint64
	slots       []Told
}

// markOf records the work that the leader has reported for the rows of an access. The applying goroutine
// calls it in log order.
func (b *backlog) markOf(a *sched.Access) *mark {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &mark{all: b.told[rowAll], global: b.told[rowGlobal]}
	if a.Global {
		return m
	}
	for _, s := range a.Slots {
		if s.Mode == sched.Exclusive {
			m.slots = append(m.slots, Told{Row(s.Slot), b.told[Row(s.Slot)]})
		}
	}
	return m
}

// ahead is how much work was outstanding before a txn whose turn has come and which holds the
// access.
func (b *backlog) ahead(m *mark, a *sched.Access) (most uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.Global {
		return since(b.sum(rowAll), m.all)
	}
	inAll := since(b.sum(rowGlobal), m.global)
	for _, s := range a.Slots {
		if s.Mode == sched.Exclusive {
			most = max(most, inAll+since(b.sum(Row(s.Slot)), m.told(Row(s.Slot))))
		}
	}
	return most
}

// told is the work that a leader has reported for a lock slot.
func (m *mark) told(r Row) uint64 {
	i, _ := slices.BinarySearchFunc(m.slots, r, func(t Told, r Row) int { return cmp.Compare(t.Row, r) })
	return m.slots[i].Work
}

// since is the work that was done and not yet reported. A report never exceeds what the receiving
// replica has done by the time it reaches the report in the log.
func since(done, told uint64) uint64 { return done - min(done, told) }

// add counts the work of txn no, which holds the access.
func (b *backlog) add(no, work uint64, a *sched.Access) {
	if !a.Global && len(a.Slots) == 0 {
		return // it holds no row, so no other txn's turn fixes when its work counts
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	to := b.done
	if b.cutting && no > b.cutNo {
		to = b.later
	}
	b.addTo(to, rowAll, work)
	if a.Global {
		b.addTo(to, rowGlobal, work)
		return
	}
	for _, s := range a.Slots {
		if s.Mode == sched.Exclusive {
			b.addTo(to, Row(s.Slot), work)
		}
	}
}

func (b *backlog) addTo(to rowWork, r Row, work uint64) {
	to[r] += work
	if since(b.sum(r), b.told[r]) >= tellLeast {
		b.untold[r] = struct{}{}
		b.untoldRows.Store(int64(len(b.untold)))
	}
}

// tell applies the work that a leader has reported in an entry.
func (b *backlog) tell(told []Told) {
	if len(told) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range told {
		b.told[t.Row] = max(b.told[t.Row], t.Work)
		// This replica may be behind the leader, and have done less.
		if since(b.sum(t.Row), b.told[t.Row]) < tellLeast {
			delete(b.untold, t.Row)
		}
	}
	b.untoldRows.Store(int64(len(b.untold)))
}

// untoldNow is the work that a leader has to report in the entry that it is making.
func (b *backlog) untoldNow() []Told {
	if b.untoldRows.Load() == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]Told, 0, len(b.untold))
	// order does not matter: this report becomes state only through the entry
	for r := range b.untold {
		all = append(all, Told{r, b.sum(r)})
	}
	slices.SortFunc(all, func(x, y Told) int { return cmp.Compare(x.Row, y.Row) })
	return all[:min(len(all), toldRowsMax)]
}

// openCut separates the work of txns up to no from the work of later ones, and returns the told
// work. The applying goroutine calls it between two entries.
func (b *backlog) openCut(no uint64) (told []Told) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cutNo, b.cutting = no, true
	return b.told.list()
}

// cut is the work of the txns up to the cut, all of which must have run.
func (b *backlog) cut() (done []Told) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done.list()
}

func (b *backlog) closeCut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cutting = false
	// order does not matter: sums
	for r, work := range b.later {
		b.done[r] += work
	}
	clear(b.later)
}

// list is the work by row, in the order of the rows.
func (w rowWork) list() []Told {
	all := make([]Told, 0, len(w))
	// order does not matter: sorted below
	for r, work := range w {
		all = append(all, Told{r, work})
	}
	slices.SortFunc(all, func(x, y Told) int { return cmp.Compare(x.Row, y.Row) })
	return all
}

// restoredBacklog is the backlog that a snapshot holds.
func restoredBacklog(done, told []Told) *backlog {
	b := newBacklog()
	for _, t := range told {
		b.told[t.Row] = t.Work
	}
	for _, t := range done {
		b.addTo(b.done, t.Row, t.Work)
	}
	return b
}
