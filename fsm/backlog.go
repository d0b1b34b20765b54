package fsm

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// backlog counts the work of txns that take long, so that a replica can tell, at a txn's turn,
// how much work stood in the log before the txn when its entry was made. Beyond
// outstanding-work-max-ms the txn does not run, on any replica.
//
// Work is summed up by row: for each lock slot what was done by txns that held it exclusively,
// for the global row what was done by those that held everything, and one sum of all. When a
// txn holds its locks, all earlier txns of those rows have ended and no later one has begun: so
// the sums of its rows are the same on every replica. The leader writes into each entry what it
// has seen done (told), and a txn goes by what it was told at its place in the log. The
// difference is work that had not been done when the entry was made.
//
//	holds everything:  all - told all
//	holds lock slots:  the most of (slot + global) - (told slot + told global)
//
// Txns with key locks run side by side: on its own lock slots each would have nothing before it.
// Of those that may take long, whatever their arguments are, the leader names a few in the entry
// that are free to run so. The others hold the lane, too, a row behind the last lock slot: they run
// one behind the other, and count as one slot's.
//
// So a script that was cheap a thousand times, and is not today, delays nobody for longer than
// the limit and one script more; the leader's guess at what scripts take (package shard) only
// saves them from being refused here. Nothing has to be undone, for what is refused has not
// begun. What is in the log cannot be ended otherwise: at any other moment replicas are at
// different places.
type backlog struct {
	mu sync.Mutex // guards what follows
	// done is what was done by txns up to the open cut, or by all if there is none; later is
	// what was done by those behind it.
	done, later rowWork
	// cutNo is the number of the last txn before the open cut; cutting: there is one.
	cutNo   uint64
	cutting bool
	// told is what leaders had seen done, up to the last entry whose tickets were taken.
	told rowWork
	// untold are the rows of which tellLeast has been done since it was told.
	untold map[Row]struct{}
	// untoldRows is how many these are.
	untoldRows atomic.Int64
}

// Row is a lock slot, or one of the rows that stand for more.
type Row int32

const (
	// rowAll is what txns did that held any row, rowGlobal what those did that held all.
	rowAll    Row = -2
	rowGlobal Row = -1
	rowFirst      = rowAll
)

// rowWork is work by row.
type rowWork map[Row]uint64

// Told is the work that was done in a row.
type Told struct {
	Row  Row
	Work uint64
}

const (
	// FreeMax is how many txns leaders let into the log at a time that need not hold the lane.
	FreeMax = 64
	// tellLeast is how much has to be done in a row before leaders say so: by so much a txn
	// may believe the work before it to be more than it was.
	tellLeast = command.WorkSecond / 100
	// toldRowsMax bounds what one entry tells.
	toldRowsMax = 48
	// workLeast is the work from which on a txn is counted that was not taken for one that
	// takes long.
	workLeast = command.WorkSecond / 10_000
)

func newBacklog() *backlog {
	return &backlog{done: rowWork{}, later: rowWork{}, told: rowWork{}, untold: map[Row]struct{}{}}
}

// sum is what was done in a row; mu is held.
func (b *backlog) sum(r Row) uint64 { return b.done[r] + b.later[r] }

// mark is what a txn was told at its place in the log.
type mark struct {
	all, global uint64
	slots       []Told
}

// markOf notes what the leader has told of the rows of an access. The applying goroutine calls
// it in log order.
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

// ahead is how much work there was before a txn that has its turn and holds the access.
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

// told is what a leader has reported about a lock slot.
func (m *mark) told(r Row) uint64 {
	i, _ := slices.BinarySearchFunc(m.slots, r, func(t Told, r Row) int { return cmp.Compare(t.Row, r) })
	return m.slots[i].Work
}

// since is the work that was done and not yet reported. No leader reports more than the
// receiving replica has done when the report is its turn.
func since(done, told uint64) uint64 { return done - min(done, told) }

// add counts the work of txn no, which holds the access.
func (b *backlog) add(no, work uint64, a *sched.Access) {
	if !a.Global && len(a.Slots) == 0 {
		return // it holds no row, and what it did is known at no txn's turn
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

// tell takes note of what a leader has said in an entry.
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

// untoldNow is what a leader has to say in the entry that it makes now.
func (b *backlog) untoldNow() []Told {
	if b.untoldRows.Load() == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]Told, 0, len(b.untold))
	// order does not matter: what this leader says is state only in the entry
	for r := range b.untold {
		all = append(all, Told{r, b.sum(r)})
	}
	slices.SortFunc(all, func(x, y Told) int { return cmp.Compare(x.Row, y.Row) })
	return all[:min(len(all), toldRowsMax)]
}

// openCut parts what txns up to no do from what later ones do, and returns what was told. The
// applying goroutine calls it between two entries.
func (b *backlog) openCut(no uint64) (told []Told) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cutNo, b.cutting = no, true
	return b.told.list()
}

// cut is what was done by txns up to the cut. All of them must have run.
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

// list is the work by row, in their order.
func (w rowWork) list() []Told {
	all := make([]Told, 0, len(w))
	// order does not matter: sorted below
	for r, work := range w {
		all = append(all, Told{r, work})
	}
	slices.SortFunc(all, func(x, y Told) int { return cmp.Compare(x.Row, y.Row) })
	return all
}

// restoredBacklog is the backlog of a snapshot.
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
