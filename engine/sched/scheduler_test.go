package sched

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// do is a Runner made of a function.
type do func()

// Run implements Runner.
func (f do) Run() { f() }

func access(slots ...SlotMode) (a Access) {
	for _, s := range slots {
		a.Add(s.Slot, s.Mode)
	}
	return a
}

func reads(slot int32) SlotMode  { return SlotMode{slot, Shared} }
func writes(slot int32) SlotMode { return SlotMode{slot, Exclusive} }

func newTable(t testing.TB, cfg Config) *Scheduler {
	if cfg.Slots == 0 {
		cfg.Slots = 16
	}
	s := New(cfg)
	t.Cleanup(s.Close)
	return s
}

func lock(t testing.TB, s *Scheduler, a Access) *Ticket {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ticket := new(Ticket)
	if err := s.Lock(ctx, ticket, &a); err != nil {
		t.Fatal(err)
	}
	return ticket
}

// eventually waits until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		runtime.Gosched()
	}
}

// Readers of one slot run together (D6).
func TestReadersOfOneSlotOverlap(t *testing.T) {
	s := newTable(t, Config{})
	a, b := lock(t, s, access(reads(3))), lock(t, s, access(reads(3), reads(4)))
	s.Unlock(a)
	s.Unlock(b)
}

// A writer waits for running readers, and holds back later ones (D7, B12).
func TestAWriterWaitsForReadersAndBarsLaterOnes(t *testing.T) {
	s := newTable(t, Config{})
	first := lock(t, s, access(reads(3)))
	var writer, later Ticket
	wa, la := access(writes(3)), access(reads(3))
	s.Enqueue(&writer, &wa)
	s.Enqueue(&later, &la)
	other := access(reads(3))
	if s.TryLock(new(Ticket), &other) {
		t.Fatal("a reader passed a waiting writer")
	}
	if st := s.Stats(); st.WaitingTickets != 2 {
		t.Fatalf("%d tickets wait, not 2", st.WaitingTickets)
	}
	s.Unlock(first)
	if err := s.Wait(t.Context(), &writer); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.WaitingTickets != 1 {
		t.Fatal("the later reader runs beside the writer")
	}
	s.Unlock(&writer)
	if err := s.Wait(t.Context(), &later); err != nil {
		t.Fatal(err)
	}
	s.Unlock(&later)
}

// A task that waits for one slot does not delay other slots, and Submit never waits (D2, B3).
func TestABlockedSlotHoldsUpNoOther(t *testing.T) {
	s := newTable(t, Config{})
	holder := lock(t, s, access(writes(1)))
	var blocked, free atomic.Int32
	s.Submit(&Task{Access: access(writes(1)), Work: do(func() { blocked.Add(1) })})
	s.Submit(&Task{Access: access(writes(2)), Work: do(func() { free.Add(1) })})
	if free.Load() != 1 || blocked.Load() != 0 {
		t.Fatalf("free ran %d times, blocked %d", free.Load(), blocked.Load())
	}
	s.Unlock(holder)
	eventually(t, "the blocked task runs", func() bool { return blocked.Load() == 1 })
}

// An access contains each slot once, in one order, with the stronger mode (D5, B13, B14, B15).
func TestAnAccessNamesEachSlotOnce(t *testing.T) {
	a := access(reads(5), writes(2), writes(5), reads(2), reads(9))
	if got := fmt.Sprint(a.Slots); got != "[{2 1} {5 1} {9 0}]" {
		t.Error(got)
	}
	a.Raise()
	if a.Slots[2].Mode != Exclusive {
		t.Error("a transaction takes all exclusively")
	}
}

// Global work waits for running work, and later work waits for it. Scan-like work does not wait
// (D8, B17, B18).
func TestGlobalExcludesAllAndWaitsItsTurn(t *testing.T) {
	s := newTable(t, Config{})
	keyed := lock(t, s, access(writes(1)))
	var global, later Ticket
	ga := Access{}
	ga.Global = true
	la := access(reads(7))
	s.Enqueue(&global, &ga)
	s.Enqueue(&later, &la)
	if st := s.Stats(); st.WaitingTickets != 2 {
		t.Fatalf("%d wait", st.WaitingTickets)
	}
	s.Unlock(keyed)
	if err := s.Wait(t.Context(), &global); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.WaitingTickets != 1 || st.PermitsInUse != 1 {
		t.Fatalf("beside global work %d run, %d wait", st.PermitsInUse-1, st.WaitingTickets)
	}
	// Scan-like work takes a permit and no row.
	scan := lock(t, s, Access{})
	if st := s.Stats(); st.PermitsInUse != 2 {
		t.Errorf("%d permits in use", st.PermitsInUse)
	}
	s.Unlock(scan)
	s.Unlock(&global)
	if err := s.Wait(t.Context(), &later); err != nil {
		t.Fatal(err)
	}
	s.Unlock(&later)
}

// Permits cap how many tickets run at once. Each takes one, however many keys it has (B10, B11).
func TestPermitsCapParallelism(t *testing.T) {
	s := newTable(t, Config{Permits: 2})
	a, b := lock(t, s, access(reads(1), reads(2), reads(3))), lock(t, s, Access{})
	third := access(reads(4))
	if s.TryLock(new(Ticket), &third) {
		t.Fatal("a third runs under two permits")
	}
	var ran atomic.Int32
	s.Submit(&Task{Access: access(writes(9)), Work: do(func() { ran.Add(1) })})
	if ran.Load() != 0 {
		t.Fatal("a task of the log runs without a permit")
	}
	s.Unlock(a)
	eventually(t, "the task gets the permit", func() bool { return ran.Load() == 1 })
	s.Unlock(b)
	if st := s.Stats(); st.PermitsInUse > 1 {
		t.Errorf("%d permits in use", st.PermitsInUse)
	}
}

func TestACancelledTicketLeavesNothingBehind(t *testing.T) {
	s := newTable(t, Config{Permits: 1})
	holder := lock(t, s, access(writes(1)))
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	for _, a := range []Access{access(writes(1), writes(2)), access(reads(3)), access(reads(1))} {
		go func() { errs <- s.Lock(ctx, new(Ticket), &a) }()
	}
	eventually(t, "all wait", func() bool { st := s.Stats(); return st.WaitingTickets == 2 && st.WaitingPermits == 1 })
	cancel()
	for range 3 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	s.Unlock(holder)
	if st := s.Stats(); st.WaitingTickets+st.WaitingPermits+st.PermitsInUse != 0 {
		t.Errorf("left behind: %+v", st)
	}
	if left := s.Slots(); len(left) != 0 {
		t.Errorf("slots held: %+v", left)
	}
}

func TestWhoWaitsBehindACancelledTicketGoesOn(t *testing.T) {
	s := newTable(t, Config{})
	reader := lock(t, s, access(reads(1)))
	var writer, later Ticket
	wa, la := access(writes(1)), access(reads(1))
	s.Enqueue(&writer, &wa)
	s.Enqueue(&later, &la)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, &writer); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if st := s.Stats(); st.WaitingTickets != 0 {
		t.Errorf("%d wait beside a reader", st.WaitingTickets)
	}
	s.Unlock(reader)
	if err := s.Wait(t.Context(), &later); err != nil {
		t.Fatal(err)
	}
	s.Unlock(&later)
}

// Tasks that run under one claim do not pass a task that waits. A long task ends the claim, and a
// claim is bounded.
func TestWhatRunsTogether(t *testing.T) {
	s := newTable(t, Config{})
	task := func(a Access, f func()) *Task { return &Task{Access: a, Work: do(f)} }
	t.Run("none passes who waits", func(t *testing.T) {
		reader := lock(t, s, access(reads(1)))
		var order []string
		if s.SubmitAll([]*Task{task(access(writes(1)), func() { order = append(order, "write") })}, nil) {
			t.Error("a writer ran beside a reader")
		}
		if s.SubmitAll([]*Task{task(access(reads(1)), func() { order = append(order, "read") })}, nil) {
			t.Error("a reader passed a writer")
		}
		s.Unlock(reader)
		s.Drain()
		if fmt.Sprint(order) != "[write read]" {
			t.Error(order)
		}
	})
	t.Run("what takes long is handed over", func(t *testing.T) {
		release, behind := make(chan struct{}), false
		heavy := task(access(writes(1)), func() { <-release })
		heavy.Heavy = true
		if s.SubmitAll([]*Task{task(access(writes(2)), func() {}), heavy, task(access(writes(3)), func() { behind = true })}, nil) {
			t.Error("all have run")
		}
		if !behind {
			t.Error("what stands behind it on another slot has not run")
		}
		close(release)
		s.Drain()
	})
	t.Run("so many and no more", func(t *testing.T) {
		var tasks []*Task
		for range 3*claimMax + 1 {
			tasks = append(tasks, task(access(writes(1)), func() {}))
		}
		var runs []int
		if !s.SubmitAll(tasks, func(claimed []*Task) { runs = append(runs, len(claimed)) }) {
			t.Error("not all have run")
		}
		if fmt.Sprint(runs) != fmt.Sprint([]int{claimMax, claimMax, claimMax, 1}) {
			t.Error(runs)
		}
	})
}

// Tasks that share a slot run in the order of their tickets, whatever the workers do. Each task
// appends to the slots that it holds, and every slot must have seen the serial order.
func TestLogOrderIsLockOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		for _, batch := range []bool{false, true} {
			t.Run(fmt.Sprint(workers, batch), func(t *testing.T) { logOrder(t, workers, batch) })
		}
	}
}

func logOrder(t *testing.T, workers int, batch bool) {
	const slots, tasks = 12, 4000
	s := newTable(t, Config{Slots: slots, Permits: workers + 1, Workers: workers})
	rng := rand.New(rand.NewPCG(uint64(workers), 7))
	seen := make([][]int, slots)
	want := make([][]int, slots)
	all := make([]*Task, tasks)
	for i := range all {
		k := &Task{Heavy: rng.IntN(4) == 0}
		global := rng.IntN(200) == 0
		if global {
			k.Access.Global = true
		} else {
			for range 1 + rng.IntN(3) {
				k.Access.Add(rng.Int32N(slots), Exclusive)
			}
		}
		var mine []int32
		for slot := range int32(slots) {
			if global {
				mine = append(mine, slot)
			}
		}
		for _, x := range k.Access.Slots {
			mine = append(mine, x.Slot)
		}
		for _, slot := range mine {
			want[slot] = append(want[slot], i)
		}
		k.Work = do(func() {
			for _, slot := range mine {
				seen[slot] = append(seen[slot], i)
			}
		})
		all[i] = k
	}
	stop := readersUntil(t, s, slots, seen)
	for len(all) > 0 {
		n := min(len(all), 1+rng.IntN(40))
		if batch {
			s.SubmitAll(all[:n], nil)
		} else {
			for _, k := range all[:n] {
				s.Submit(k)
			}
		}
		all = all[n:]
	}
	s.Drain()
	stop()
	for slot := range seen {
		if fmt.Sprint(seen[slot]) != fmt.Sprint(want[slot]) {
			t.Fatalf("slot %d saw another order", slot)
		}
	}
}

// readersUntil reads slots all the time, so that tickets of both kinds mix.
func readersUntil(t *testing.T, s *Scheduler, slots int, seen [][]int) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for r := range 3 {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(r), 9))
			var ticket Ticket
			for ctx.Err() == nil {
				slot := rng.Int32N(int32(slots))
				a := access(reads(slot))
				if s.Lock(ctx, &ticket, &a) != nil {
					return
				}
				_ = len(seen[slot])
				s.Unlock(&ticket)
			}
		})
	}
	return func() {
		cancel()
		wait.Wait()
	}
}

// There is no deadlock: a million mixed tickets, of the log and of readers, some of them cancelled,
// all end.
func TestAMillionMixedTicketsEnd(t *testing.T) {
	total := 1_000_000
	if testing.Short() || raceEnabled {
		total = 100_000
	}
	s := newTable(t, Config{Slots: 32, Permits: 4, Workers: 4})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var wait sync.WaitGroup
	const readers = 6
	for r := range readers {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(r), 3))
			var ticket Ticket
			for range total / 2 / readers {
				a := randomAccess(rng, Shared)
				mine, stop := ctx, func() {}
				if rng.IntN(50) == 0 {
					mine, stop = context.WithTimeout(ctx, time.Duration(rng.IntN(20))*time.Microsecond)
				}
				if s.Lock(mine, &ticket, &a) == nil {
					s.Unlock(&ticket)
				}
				stop()
			}
		})
	}
	var ran atomic.Int64
	rng := rand.New(rand.NewPCG(1, 5))
	tasks := make([]*Task, 0, 50)
	for i := 0; i < total/2; i += 50 {
		tasks = tasks[:0]
		for range 50 {
			tasks = append(tasks, &Task{Access: randomAccess(rng, Exclusive), Heavy: rng.IntN(20) == 0, Work: do(func() { ran.Add(1) })})
		}
		s.SubmitAll(tasks, nil)
	}
	s.Drain()
	wait.Wait()
	if ctx.Err() != nil || ran.Load() != int64(total/2) {
		t.Fatalf("%d of %d tasks ran; %v", ran.Load(), total/2, ctx.Err())
	}
	if st := s.Stats(); st.PermitsInUse+st.WaitingTickets+st.WaitingPermits != 0 {
		t.Errorf("left behind: %+v", st)
	}
}

func randomAccess(rng *rand.Rand, mode Mode) (a Access) {
	switch n := rng.IntN(100); {
	case n == 0:
		a.Global = true
	case n < 10: // only a permit
	default:
		for range 1 + n%4 {
			a.Add(rng.Int32N(32), mode)
		}
	}
	return a
}

// A slow task on one slot does not delay tasks of other slots: they are submitted and run
// meanwhile.
func TestASlowTaskDoesNotDelayOtherSlots(t *testing.T) {
	s := newTable(t, Config{})
	release := make(chan struct{})
	s.Submit(&Task{Access: access(writes(1)), Heavy: true, Work: do(func() { <-release })})
	var slowest time.Duration
	for i := range 2000 {
		begin := time.Now()
		s.Submit(&Task{Access: access(writes(int32(2 + i%10))), Work: do(func() {})})
		slowest = max(slowest, time.Since(begin))
	}
	t.Logf("slowest of 2000 tasks beside a slow one: %v", slowest)
	close(release)
}

// Tasks that start at one moment run side by side, even if fewer workers are idle: the second does
// not wait until the first has run.
func TestTasksOfOneMomentRunSideBySide(t *testing.T) {
	s := newTable(t, Config{})
	s.Submit(&Task{Heavy: true, Work: do(func() {})})
	eventually(t, "a worker is idle", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.workers.idle == 1
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	holder := lock(t, s, access(writes(1), writes(2)))
	second := make(chan struct{})
	s.Submit(&Task{Access: access(writes(1)), Work: do(func() {
		select {
		case <-second:
		case <-ctx.Done():
			t.Error("a task on one slot waits until one on another has run")
		}
	})})
	s.Submit(&Task{Access: access(writes(2)), Work: do(func() { close(second) })})
	s.Unlock(holder)
	s.Drain()
}

func TestSlotsTellWhoHoldsAndWhoWaits(t *testing.T) {
	s := newTable(t, Config{})
	ticket := Ticket{Label: "set"}
	a := access(writes(4))
	if err := s.Lock(t.Context(), &ticket, &a); err != nil {
		t.Fatal(err)
	}
	var waiting Ticket
	b := access(reads(4))
	s.Enqueue(&waiting, &b)
	// There are more writers than names to show.
	var writers [namesShown]Ticket
	for i := range writers {
		writers[i].Label = fmt.Sprint("w", i)
		c := access(writes(4))
		s.Enqueue(&writers[i], &c)
	}
	got := s.Slots()
	if len(got) != 1 || got[0].Slot != 4 || !got[0].Exclusive || got[0].WaitingShared != 1 || got[0].WaitingExclusive != namesShown ||
		fmt.Sprint(got[0].Labels) != "[set]" || fmt.Sprintf("%q", got[0].Queue) != `["" "w0" "w1" "w2"]` {
		t.Errorf("%+v", got)
	}
	s.Unlock(&ticket)
	if err := s.Wait(t.Context(), &waiting); err != nil {
		t.Fatal(err)
	}
	s.Unlock(&waiting)
	if hot := s.Hottest(3); len(hot) == 0 || hot[0].Waited == 0 {
		t.Errorf("%+v", hot)
	}
}

// The tickets that share a slot are named, the newest first, whichever of them ends.
func TestSlotsTellWhoShares(t *testing.T) {
	s := newTable(t, Config{})
	const n = namesShown + 1
	var tickets [n]Ticket
	for i := range tickets {
		tickets[i].Label = fmt.Sprint("r", i)
		a := access(reads(4), reads(5))
		s.Enqueue(&tickets[i], &a)
	}
	for _, c := range []struct {
		goes int
		want string
	}{{-1, "[r4 r3 r2 r1]"}, {4, "[r3 r2 r1 r0]"}, {2, "[r3 r1 r0]"}, {0, "[r3 r1]"}, {3, "[r1]"}, {1, ""}} {
		if c.goes >= 0 {
			s.Unlock(&tickets[c.goes])
		}
		got := s.Slots()
		if c.want == "" {
			if len(got) != 0 {
				t.Errorf("%+v", got)
			}
			continue
		}
		if len(got) != 2 || got[0].Exclusive || fmt.Sprint(got[0].Labels) != c.want || fmt.Sprint(got[1].Labels) != c.want {
			t.Errorf("%+v, not %s", got, c.want)
		}
	}
}

// If a table has more slots than Slots returns, the slots that tickets wait for come first.
func TestSlotsThatAreWaitedForAreToldFirst(t *testing.T) {
	s := newTable(t, Config{Slots: 2 * slotsShown})
	var many Access
	for slot := range int32(2 * slotsShown) {
		many.Add(slot, Exclusive)
	}
	holder := lock(t, s, many)
	var waiting, all Ticket
	last := access(reads(2*slotsShown - 1))
	s.Enqueue(&waiting, &last)
	s.Enqueue(&all, &Access{Global: true})
	got := s.Slots()
	if len(got) != slotsShown || got[0].Slot != -1 || got[0].WaitingExclusive != 1 || got[1].Slot != 2*slotsShown-1 || got[1].WaitingShared != 1 {
		t.Errorf("%d slots: %+v", len(got), got[:2])
	}
	s.Unlock(holder)
	for _, w := range []*Ticket{&waiting, &all} {
		if err := s.Wait(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		s.Unlock(w)
	}
}

// A ticket that waits for the whole table is shown, however many slots are held.
func TestTheGlobalRowIsShownBeforeManySlots(t *testing.T) {
	s := newTable(t, Config{Slots: slotsShown + 1})
	var a Access
	for slot := range int32(slotsShown + 1) {
		a.Add(slot, Exclusive)
	}
	var holder, global Ticket
	if err := s.Lock(t.Context(), &holder, &a); err != nil {
		t.Fatal(err)
	}
	s.Enqueue(&global, &Access{Global: true})
	if got := s.Slots(); len(got) != slotsShown || got[0].Slot != -1 || got[0].WaitingExclusive != 1 {
		t.Errorf("%d slots, the first is %+v", len(got), got[0])
	}
	s.Unlock(&holder)
	if err := s.Wait(t.Context(), &global); err != nil {
		t.Fatal(err)
	}
	s.Unlock(&global)
}

func BenchmarkSubmitInline(b *testing.B) {
	s := newTable(b, Config{Slots: 1024})
	k := &Task{Access: access(writes(7)), Work: do(func() {})}
	b.ReportAllocs()
	for b.Loop() {
		s.Submit(k)
	}
}

func BenchmarkSubmitAll100(b *testing.B) {
	s := newTable(b, Config{Slots: 1024})
	tasks := make([]*Task, 100)
	for i := range tasks {
		tasks[i] = &Task{Access: access(writes(int32(i * 7 % 1024))), Work: do(func() {})}
	}
	b.ReportAllocs()
	for b.Loop() {
		s.SubmitAll(tasks, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/task")
}

// BenchmarkChain100 runs heavy tasks of one slot, each about as long as a small script. Each must
// wait for the one before.
func BenchmarkChain100(b *testing.B) {
	s := newTable(b, Config{})
	tasks, text, sum := make([]*Task, 100), make([]byte, 4<<10), byte(0)
	for b.Loop() {
		for i := range tasks {
			tasks[i] = &Task{Access: access(writes(1)), Heavy: true, Work: do(func() { sum += sha256.Sum256(text)[0] })}
		}
		s.SubmitAll(tasks, nil)
		s.Drain()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tasks)), "ns/task")
}

func BenchmarkLockUnlockShared(b *testing.B) {
	s := newTable(b, Config{Slots: 1024})
	a := access(reads(7))
	var ticket Ticket
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Lock(context.Background(), &ticket, &a)
		s.Unlock(&ticket)
	}
}

// Tickets leave the front, the middle and the end of the queue of a slot, and of the queue for
// permits. The others continue in their order.
func TestTicketsGivenUpAnywhereLeaveTheOthersInOrder(t *testing.T) {
	const n = 8
	for gone := range 1 << n {
		for _, c := range []struct {
			name    string
			holder  Access
			waiting func(i int) Access
		}{
			{"a slot", access(writes(1)), func(int) Access { return access(writes(1)) }},
			{"permits", access(writes(1)), func(i int) Access { return access(writes(int32(2 + i))) }},
		} {
			s := newTable(t, Config{Permits: 1})
			before := lock(t, s, c.holder)
			var tickets [n]Ticket
			for i := range tickets {
				a := c.waiting(i)
				s.Enqueue(&tickets[i], &a)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			// The order is not ascending, so that neighbours leave in both orders.
			for _, i := range []int{1, 0, 5, 7, 6, 2, 3, 4} {
				if gone&(1<<i) == 0 {
					continue
				}
				if err := s.Wait(ctx, &tickets[i]); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
			for i := range tickets {
				if gone&(1<<i) != 0 {
					continue
				}
				s.Unlock(before)
				before = &tickets[i]
				if len(before.ready) != 1 {
					t.Fatalf("%s, %08b given up: ticket %d is not next", c.name, gone, i)
				}
				if err := s.Wait(t.Context(), before); err != nil {
					t.Fatal(err)
				}
			}
			s.Unlock(before)
			if st := s.Stats(); st.WaitingTickets+st.WaitingPermits+st.PermitsInUse != 0 {
				t.Fatalf("%s, %08b given up: left behind: %+v", c.name, gone, st)
			}
		}
	}
}

// BenchmarkGiveUp10000 has 10,000 readers of one slot give up, the newest first.
func BenchmarkGiveUp10000(b *testing.B) {
	s := newTable(b, Config{})
	lock(b, s, access(writes(1)))
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	tickets := make([]Ticket, 10_000)
	for b.Loop() {
		for i := range tickets {
			a := access(reads(1))
			s.Enqueue(&tickets[i], &a)
		}
		for i := len(tickets) - 1; i >= 0; i-- {
			if err := s.Wait(ctx, &tickets[i]); err == nil {
				b.Fatal("granted")
			}
		}
	}
}
