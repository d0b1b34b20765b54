package sched

import (
	"context"
	"sync"
)

// Config sizes a Scheduler.
type Config struct {
	Slots, Permits, Workers int
	NowNs                   func() int64
}

// Task is one unit of log work.
type Task struct {
	Access Access
	Heavy  bool
	Run    func()
	t      Ticket
}

type place struct {
	ticket *Ticket
	mode   Mode
	row    int32
	next   *place
}

type row struct {
	shared     int32
	excl       int32
	batch      uint64
	head, tail *place
}

// Ticket is a reader's place in the queues.
type Ticket struct {
	places  []place
	missing int
	permit  bool
	task    *Task
	ready   chan struct{}
	next    *Ticket
}

// Scheduler is the lock table.
type Scheduler struct {
	mu       sync.Mutex
	rows     []row
	free     int
	waitHead *Ticket
	waitTail *Ticket
	queue    []*Task
	workers  int
	idle     int
	max      int
	cond     *sync.Cond
	closed   bool
	batch    uint64
	open     int
	wg       sync.WaitGroup
}

// New returns a Scheduler.
func New(c Config) *Scheduler {
	if c.Permits <= 0 {
		c.Permits = 64
	}
	if c.Workers <= 0 {
		c.Workers = c.Permits
	}
	s := &Scheduler{rows: make([]row, c.Slots+1), free: c.Permits, max: c.Workers}
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (s *Scheduler) global() int32 { return int32(len(s.rows) - 1) }

func (t *Ticket) fill(s *Scheduler, a *Access) {
	t.places = t.places[:0]
	switch {
	case a.Global:
		t.places = append(t.places, place{row: s.global(), mode: Exclusive})
	case len(a.Slots) > 0:
		t.places = append(t.places, place{row: s.global(), mode: Shared})
		for _, x := range a.Slots {
			t.places = append(t.places, place{row: x.Slot, mode: x.Mode})
		}
	}
	t.missing, t.permit, t.next = 0, false, nil
}

func (r *row) fits(m Mode) bool {
	if m == Shared {
		return r.excl == 0
	}
	return r.excl == 0 && r.shared == 0
}

func (r *row) take(m Mode) {
	if m == Shared {
		r.shared++
	} else {
		r.excl++
	}
}

func (s *Scheduler) enqueueLocked(t *Ticket) bool {
	for i := range t.places {
		p := &t.places[i]
		p.ticket, p.next = t, nil
		r := &s.rows[p.row]
		if r.head == nil && r.fits(p.mode) {
			r.take(p.mode)
			continue
		}
		t.missing++
		if r.tail == nil {
			r.head = p
		} else {
			r.tail.next = p
		}
		r.tail = p
	}
	if t.missing == 0 {
		return s.permitLocked(t)
	}
	return false
}

func (s *Scheduler) permitLocked(t *Ticket) bool {
	if s.free > 0 && s.waitHead == nil {
		s.free--
		t.permit = true
		return true
	}
	if s.waitTail == nil {
		s.waitHead = t
	} else {
		s.waitTail.next = t
	}
	s.waitTail = t
	return false
}

func (s *Scheduler) startLocked(t *Ticket) {
	if t.task == nil {
		t.ready <- struct{}{}
		return
	}
	s.queue = append(s.queue, t.task)
	if s.idle > 0 {
		s.cond.Signal()
		return
	}
	if s.workers < s.max {
		s.workers++
		s.wg.Add(1)
		go s.work()
	}
}

func (s *Scheduler) work() {
	defer s.wg.Done()
	s.mu.Lock()
	for {
		for len(s.queue) == 0 {
			if s.closed {
				s.mu.Unlock()
				return
			}
			s.idle++
			s.cond.Wait()
			s.idle--
		}
		k := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		k.Run()
		s.mu.Lock()
		s.releaseLocked(&k.t)
	}
}

func (s *Scheduler) releaseLocked(t *Ticket) {
	for i := range t.places {
		s.leaveLocked(&t.places[i])
	}
	s.free++
	for s.free > 0 && s.waitHead != nil {
		n := s.waitHead
		s.waitHead = n.next
		if s.waitHead == nil {
			s.waitTail = nil
		}
		s.free--
		n.permit = true
		s.startLocked(n)
	}
	if t.task != nil {
		s.open--
		if s.open == 0 {
			s.cond.Broadcast()
		}
	}
}

func (s *Scheduler) leaveLocked(p *place) {
	r := &s.rows[p.row]
	if p.mode == Shared {
		r.shared--
	} else {
		r.excl--
	}
	s.wakeLocked(r)
}

func (s *Scheduler) wakeLocked(r *row) {
	for r.head != nil && r.fits(r.head.mode) {
		n := r.head
		r.head = n.next
		if r.head == nil {
			r.tail = nil
		}
		r.take(n.mode)
		n.ticket.missing--
		if n.ticket.missing == 0 && s.permitLocked(n.ticket) {
			s.startLocked(n.ticket)
		}
	}
}

// Submit takes the task's ticket and runs it.
func (s *Scheduler) Submit(k *Task) {
	k.t.task = k
	k.t.fill(s, &k.Access)
	s.mu.Lock()
	s.open++
	granted := s.enqueueLocked(&k.t)
	if granted && k.Heavy {
		s.startLocked(&k.t)
		granted = false
	}
	s.mu.Unlock()
	if !granted {
		return
	}
	k.Run()
	s.mu.Lock()
	s.releaseLocked(&k.t)
	s.mu.Unlock()
}

// SubmitAll submits tasks in order.
func (s *Scheduler) SubmitAll(ks []*Task) {
	for _, k := range ks {
		s.Submit(k)
	}
}

// Lock takes a ticket and waits.
func (s *Scheduler) Lock(ctx context.Context, t *Ticket, a *Access) error {
	t.task = nil
	t.fill(s, a)
	if t.ready == nil {
		t.ready = make(chan struct{}, 1)
	}
	s.mu.Lock()
	granted := s.enqueueLocked(t)
	s.mu.Unlock()
	if granted {
		return nil
	}
	<-t.ready
	return ctx.Err()
}

// Unlock gives the ticket back.
func (s *Scheduler) Unlock(t *Ticket) {
	s.mu.Lock()
	s.releaseLocked(t)
	s.mu.Unlock()
}

// Drain waits for all tasks.
func (s *Scheduler) Drain(ctx context.Context) error {
	s.mu.Lock()
	for s.open > 0 {
		s.cond.Wait()
	}
	s.mu.Unlock()
	return ctx.Err()
}

// Close waits for workers.
func (s *Scheduler) Close() {
	_ = s.Drain(context.Background())
	s.mu.Lock()
	s.closed = true
	s.cond.Broadcast()
	s.mu.Unlock()
	s.wg.Wait()
}
