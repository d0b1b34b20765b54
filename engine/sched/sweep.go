package sched

import (
	"context"
	"sync/atomic"
)

// Sweep calls look for every lock slot, and for all of them at one instant in the order of tickets:
// after all work whose ticket was taken before, and before all later work. It returns when that is
// done. If ctx ends earlier it returns a *WaitError, and look may still be called after that.
//
// In a slot that no ticket waits for or holds exclusively, look is called at once, under the
// table's mutex. So look must be quick. In any other slot a worker calls look when the turn of that
// slot comes, and only later work in that slot waits for it. So a long command delays the sweep,
// but no work in the slots that the sweep has seen. Several workers may call look at the same time.
func (s *Scheduler) Sweep(ctx context.Context, label string, look func(slot int32)) error {
	w := &sweep{label: label, look: look, done: make(chan struct{})}
	w.left.Store(1)
	sinceNs := s.now()
	s.mu.Lock()
	if g := &s.rows[s.globalRow]; g.exclusive > 0 || g.queue.head != nil {
		// Work that locks the whole table keeps everything waiting anyway.
		s.laterLocked(w, Access{Global: true}, 0, s.globalRow)
	} else {
		for slot := range s.globalRow {
			if r := &s.rows[slot]; r.exclusive == 0 && r.queue.head == nil {
				look(slot)
			} else {
				s.laterLocked(w, Access{Slots: []SlotMode{{slot, Shared}}}, slot, slot+1)
			}
		}
	}
	s.mu.Unlock()
	w.end()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return &WaitError{Cause: ctx.Err(), By: s.InTheWay(&Access{Global: true}), WaitedNs: s.now() - sinceNs}
	}
}

// sweep is the state that the tasks of one Sweep share.
type sweep struct {
	label string
	look  func(slot int32)
	// left is the number of tasks that have not run, plus one for Sweep itself.
	left atomic.Int64
	done chan struct{}
}

func (w *sweep) end() {
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
}

// stretch is a task of a sweep, for the slots from one up to another.
type stretch struct {
	task     Task
	sweep    *sweep
	from, to int32
}

// Run implements Runner.
func (t *stretch) Run() {
	for slot := t.from; slot < t.to; slot++ {
		t.sweep.look(slot)
	}
	t.sweep.end()
}

// laterLocked submits a task that calls look for some slots when their turn comes.
func (s *Scheduler) laterLocked(w *sweep, a Access, from, to int32) {
	w.left.Add(1)
	t := &stretch{task: Task{Access: a}, sweep: w, from: from, to: to}
	k := &t.task
	k.Work = t
	k.SetLabel(w.label, "")
	k.ticket.task = k
	k.ticket.fill(s, &k.Access)
	s.open++
	if s.enqueueLocked(&k.ticket) {
		s.startLocked(&k.ticket)
	}
}
