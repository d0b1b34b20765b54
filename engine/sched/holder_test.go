package sched

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// clocked is a table whose clock the test moves.
func clocked(t *testing.T, cfg Config) (s *Scheduler, clock *atomic.Int64) {
	clock = new(atomic.Int64)
	clock.Store(int64(time.Second))
	cfg.NowNs = clock.Load
	return newTable(t, cfg), clock
}

// stopped is a task that runs until its test lets it go on.
type stopped struct{ entered, open chan struct{} }

func newStopped() *stopped { return &stopped{make(chan struct{}, 1), make(chan struct{})} }

// Run implements Runner.
func (s *stopped) Run() {
	s.entered <- struct{}{}
	<-s.open
}

func submitStopped(s *Scheduler, a Access, label, detail string) *stopped {
	work := newStopped()
	k := &Task{Access: a, Heavy: true, Work: work}
	k.SetLabel(label, detail)
	s.Submit(k)
	<-work.entered
	return work
}

// When a caller stops waiting, the error names the command that holds the lock, its program, how
// long the program has run, and how long the caller has waited.
func TestWhoGivesUpIsToldWhatWasInTheWay(t *testing.T) {
	global := Access{Global: true}
	for _, c := range []struct {
		name   string
		holder Access
		waiter Access
	}{
		{"everything is held", global, access(reads(1))},
		{"the slot is held", access(writes(1)), access(reads(1))},
		{"a slot is held, and everything is wanted", access(writes(1)), global},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, clock := clocked(t, Config{})
			clock.Add(1000)
			work := submitStopped(s, c.holder, "eval", "5332")
			defer close(work.open)
			clock.Add(500)
			ctx, cancel := context.WithCancel(t.Context())
			var ticket Ticket
			s.Enqueue(&ticket, &c.waiter)
			clock.Add(70)
			cancel()
			err := s.Wait(ctx, &ticket)
			var waited *WaitError
			if !errors.As(err, &waited) || !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			if waited.By.Name() != "eval 5332" || waited.By.RanNs != 570 || waited.WaitedNs != 70 {
				t.Errorf("%+v", waited)
			}
			if h := s.InTheWay(&c.waiter); h.Name() != "eval 5332" || h.RanNs != 570 {
				t.Errorf("in the way is %+v", h)
			}
			if h := s.Longest(); h.Name() != "eval 5332" {
				t.Errorf("what has run for longest is %+v", h)
			}
		})
	}
}

// If readers share a slot, the reader that has run for the longest time is named. If all permits
// are taken, it is the task that has run for the longest time.
func TestReadersAndPermitsAreInTheWay(t *testing.T) {
	s, clock := clocked(t, Config{Permits: 2})
	var first, second Ticket
	first.Label, second.Label = "first", "second"
	a := access(reads(3))
	for _, ticket := range []*Ticket{&first, &second} {
		clock.Add(10)
		if err := s.Lock(t.Context(), ticket, &a); err != nil {
			t.Fatal(err)
		}
	}
	writer := access(writes(3))
	if h := s.InTheWay(&writer); h.Name() != "first" || h.RanNs != 10 {
		t.Errorf("%+v", h)
	}
	s.Unlock(&first)
	s.Unlock(&second)
	if h := s.InTheWay(&writer); h != (Holder{}) {
		t.Errorf("nobody is there, and %+v is in the way", h)
	}
	one, two := submitStopped(s, access(writes(1)), "a", ""), submitStopped(s, access(writes(2)), "b", "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	var waited *WaitError
	if err := s.Lock(ctx, new(Ticket), &writer); !errors.As(err, &waited) || waited.By.Name() != "a" {
		t.Errorf("%v", err)
	}
	close(one.open)
	close(two.open)
	s.Drain()
	if h := s.Longest(); h != (Holder{}) {
		t.Errorf("all have ended, and %+v runs", h)
	}
}

// Long work leaves some permits to other work. It gets its turn again when one of its own permits
// is free.
func TestWhatTakesLongLeavesPermitsToOthers(t *testing.T) {
	const limit = 8
	s := newTable(t, Config{Permits: limit})
	var running []*stopped
	for i := range int32(s.LongPermits()) {
		running = append(running, submitStopped(s, access(writes(i)), "eval", ""))
	}
	if len(running) == 0 || len(running) == limit {
		t.Fatalf("%d of %d permits are for what takes long", len(running), limit)
	}
	next := newStopped()
	s.Submit(&Task{Access: access(writes(10)), Heavy: true, Work: next})
	if st := s.Stats(); st.WaitingPermits != 1 || st.PermitsInUse != len(running) {
		t.Errorf("%+v", st)
	}
	ran := false
	if !s.Submit(&Task{Access: access(writes(11)), Work: do(func() { ran = true })}) || !ran {
		t.Error("what is brief waits for what takes long")
	}
	long := Ticket{Long: true}
	reader := access(reads(12))
	if s.TryLock(&long, &reader) {
		t.Error("a read that takes long has a permit of the others")
	}
	var brief Ticket
	if !s.TryLock(&brief, &reader) {
		t.Fatal("a brief read has none")
	}
	s.Unlock(&brief)
	close(running[0].open)
	<-next.entered
	close(next.open)
	for _, work := range running[1:] {
		close(work.open)
	}
	s.Drain()
	if st := s.Stats(); st.PermitsInUse+st.WaitingPermits != 0 || s.permits.longFree != s.LongPermits() {
		t.Errorf("left behind: %+v, %d", st, s.permits.longFree)
	}
}

// The ticket that has waited the longest for a permit goes first, whether its work is long or not.
func TestPermitsGoInOrder(t *testing.T) {
	s := newTable(t, Config{Permits: 1})
	holder := lock(t, s, access(writes(0)))
	var order []int32
	for i := range int32(6) {
		s.Submit(&Task{Access: access(writes(1 + i)), Heavy: i%2 == 0, Work: do(func() { order = append(order, i) })})
	}
	s.Unlock(holder)
	s.Drain()
	for i, got := range order {
		if got != int32(i) {
			t.Fatalf("they ran in the order %v", order)
		}
	}
}
