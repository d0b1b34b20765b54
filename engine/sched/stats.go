package sched

import (
	"cmp"
	"math/bits"
	"slices"
)

// waitBoundFirst is the smallest bound of the classes of waits, as a power of two of ns: a
// microsecond. Each bound is four times the one before.
const waitBoundFirst = 10

// WaitClasses counts waits by duration. The last class has those above all bounds.
type WaitClasses [14]uint64

// WaitBoundNs is the longest wait of a class, except the last class.
func WaitBoundNs(class int) int64 { return 1 << (waitBoundFirst + 2*class) }

type counters struct {
	tickets, waited, inline, onWorkers uint64
	waitNs                             int64
	waiting                            int
	waits                              WaitClasses
}

// wait counts a wait.
func (c *counters) wait(ns int64) {
	c.waitNs += ns
	longer := bits.Len64(uint64(max(ns-1, 0))) - waitBoundFirst
	c.waits[min(max(longer+1, 0)/2, len(c.waits)-1)]++
}

// Stats are a table's counters. They depend on timing and are never part of
// the state.
type Stats struct {
	// Tickets counts all tickets, Waited those that had to wait for a slot, and WaitNs the total of
	// their waits.
	Tickets, Waited uint64
	WaitNs          int64
	Waits           WaitClasses
	// Inline tasks ran where they were submitted, OnWorkers ran on workers.
	Inline, OnWorkers uint64
	// Permits is the number of permits, PermitsInUse how many are in use now, and WaitingPermits
	// how many tickets wait for one now.
	Permits, PermitsInUse, WaitingPermits int
	// WaitingTickets is how many tickets wait for a slot now.
	WaitingTickets int
}

// Stats returns the counters.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.count
	return Stats{
		Tickets: c.tickets, Waited: c.waited, WaitNs: c.waitNs, Waits: c.waits, Inline: c.inline, OnWorkers: c.onWorkers,
		Permits: s.permits.limit, PermitsInUse: s.permits.limit - s.permits.free, WaitingPermits: s.permits.waiting,
		WaitingTickets: c.waiting,
	}
}

// SlotInfo is a lock slot that is held or waited for. Slot -1 is the global row.
type SlotInfo struct {
	Slot                            int32
	Exclusive                       bool
	Holders                         int
	WaitingShared, WaitingExclusive int
	// Labels name the holders of the slot, the newest readers first, if their names are known: the
	// command and its program. RanNs is how long the first of them has run, 0 if that is not known.
	Labels []string
	RanNs  int64
	// Queue names the first tickets that wait, in their order. A name is "" if it is not known.
	Queue []string
}

// slotsShown bounds what Slots returns.
const slotsShown = 1024

// namesShown bounds the names of tickets that wait for one slot or share it.
const namesShown = 4

// Slots returns the lock slots that are held or waited for now. Those that tickets wait for come
// first.
func (s *Scheduler) Slots() []SlotInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []SlotInfo
	for _, awaited := range []bool{true, false} {
		// The global row comes first: if not all slots are shown, it is the most important one.
		for slot := int32(-1); slot < s.globalRow && len(all) < slotsShown; slot++ {
			r := &s.rows[s.globalRow]
			if slot >= 0 {
				r = &s.rows[slot]
			}
			// All keyed work holds the global row shared.
			held := r.exclusive > 0 || r.shared > 0 && slot >= 0
			if waits := r.queue.head != nil; waits == awaited && (waits || held) {
				all = append(all, r.info(slot, s.now()))
			}
		}
	}
	return all
}

func (r *row) info(slot int32, nowNs int64) SlotInfo {
	info := SlotInfo{Slot: slot, Exclusive: r.exclusive > 0, Holders: int(r.shared + r.exclusive)}
	hold := func(t *Ticket) {
		if name := t.holder().Name(); name != "" {
			info.Labels = append(info.Labels, name)
			if t.beganNs != 0 && info.RanNs == 0 {
				info.RanNs = nowNs - t.beganNs
			}
		}
	}
	if r.holder != nil {
		hold(r.holder)
	}
	for p := r.readers; p != nil && len(info.Labels) < namesShown; p = p.next {
		hold(p.ticket)
	}
	for p := r.queue.head; p != nil; p = p.next {
		if len(info.Queue) < namesShown {
			info.Queue = append(info.Queue, p.ticket.holder().Name())
		}
		if p.mode == Shared {
			info.WaitingShared++
		} else {
			info.WaitingExclusive++
		}
	}
	return info
}

// SlotHeat is how much tickets have waited for a lock slot. Slot -1 is the global row.
type SlotHeat struct {
	Slot   int32
	Waited uint64
	WaitNs int64
}

// Hottest returns the n lock slots with the most waits, most first.
func (s *Scheduler) Hottest(n int) []SlotHeat {
	s.mu.Lock()
	var all []SlotHeat
	for i := range s.rows {
		if r := &s.rows[i]; r.waited > 0 {
			h := SlotHeat{int32(i), r.waited, r.waitNs}
			if h.Slot == s.globalRow {
				h.Slot = -1
			}
			all = append(all, h)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b SlotHeat) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), cmp.Compare(a.Slot, b.Slot))
	})
	return all[:min(n, len(all))]
}
