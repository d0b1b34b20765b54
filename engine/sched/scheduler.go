package sched

import (
	"context"
	"sync"
)

// Config sizes a Scheduler.
type Config struct {
	// Slots is the number of lock slots.
	Slots int
	// Permits caps how many commands run at once. 0 means 64.
	Permits int
	// Workers caps the goroutines for tasks that do not run where they are submitted. 0 means as
	// many as permits.
	Workers int
	// NowNs is a clock for the statistics of waiting and for the list of running work. If
	// it is nil, nothing is timed. Nothing else depends on it.
	NowNs func() int64
	// Moment, if set, is called when Lock, TryLock or Enqueue takes a ticket, and its result
	// becomes Ticket.Moment. It must not call the table.
	Moment func() int64
}

const permitsDefault = 64

// Scheduler is a lock table.
type Scheduler struct {
	globalRow int32
	nowNs     func() int64
	moment    func() int64

	mu      sync.Mutex // guards the fields below
	rows    []row
	batch   uint64
	permits permits
	workers workers
	// open is the number of submitted tasks that have not run. quiet is signalled when it falls to
	// zero.
	open  int
	quiet sync.Cond
	count counters
}

// New returns a table of free slots.
func New(cfg Config) *Scheduler {
	if cfg.Permits <= 0 {
		cfg.Permits = permitsDefault
	}
	if cfg.Workers <= 0 {
		cfg.Workers = cfg.Permits
	}
	s := &Scheduler{globalRow: int32(cfg.Slots), rows: make([]row, cfg.Slots+1), nowNs: cfg.NowNs, moment: cfg.Moment}
	s.permits.init(cfg.Permits)
	s.workers.init(s, cfg.Workers)
	s.quiet.L = &s.mu
	return s
}

// enqueueLocked takes the ticket's places and reports whether it may run now.
func (s *Scheduler) enqueueLocked(t *Ticket) bool {
	s.count.tickets++
	for i := range t.places {
		p := &t.places[i]
		r := &s.rows[p.row]
		if r.queue.head == nil && r.fits(p.mode) {
			r.hold(p)
			continue
		}
		t.missing++
		p.granted = false
		r.queue.push(p)
	}
	if t.missing > 0 {
		s.count.waited++
		s.count.waiting++
		t.sinceNs = s.now()
		return false
	}
	if s.permits.grabOrQueue(t) {
		return true
	}
	t.sinceNs = s.now()
	return false
}

// releaseLocked releases the ticket's places and its permit, and starts the tickets that waited for
// them.
func (s *Scheduler) releaseLocked(t *Ticket) {
	for i := range t.places {
		s.leaveLocked(&t.places[i])
	}
	s.permits.back(t)
	s.grantPermitsLocked()
}

func (s *Scheduler) leaveLocked(p *place) {
	r := &s.rows[p.row]
	r.letGo(p)
	if r.queue.head != nil {
		s.grantLocked(r)
	}
}

// grantLocked grants a row to as many places as fit from the head of its queue.
func (s *Scheduler) grantLocked(r *row) {
	for r.queue.head != nil && r.fits(r.queue.head.mode) {
		p := r.queue.pop()
		r.hold(p)
		t := p.ticket
		r.waited++
		if s.nowNs != nil {
			r.waitNs += s.nowNs() - t.sinceNs
		}
		t.missing--
		if t.missing > 0 {
			continue
		}
		s.count.waiting--
		if s.nowNs != nil {
			s.count.wait(s.nowNs() - t.sinceNs)
		}
		if s.permits.grabOrQueue(t) {
			s.startLocked(t)
		}
	}
}

// now is the time of the statistics, 0 without a clock.
func (s *Scheduler) now() int64 {
	if s.nowNs == nil {
		return 0
	}
	return s.nowNs()
}

// startLocked starts a ticket that has all it needs.
func (s *Scheduler) startLocked(t *Ticket) {
	if t.task == nil {
		t.beganNs = s.now()
		t.ready <- struct{}{}
		return
	}
	s.workers.push(t.task)
}

// grantPermitsLocked gives away the free permits.
func (s *Scheduler) grantPermitsLocked() {
	for t := s.permits.next(); t != nil; t = s.permits.next() {
		s.startLocked(t)
	}
}

// doneLocked records that n tasks have run.
func (s *Scheduler) doneLocked(n int) {
	s.open -= n
	if s.open == 0 {
		s.quiet.Broadcast()
	}
}

// Submit takes the task's ticket and runs the task: at once on the calling goroutine if the task
// may run now and is not Heavy, otherwise on a worker as soon as it may. One goroutine calls
// Submit; the order of its calls is the order of the tickets. Submit returns true if the task has
// run, and the caller owns it again.
func (s *Scheduler) Submit(k *Task) bool {
	k.ticket.task, k.ticket.Long = k, k.Heavy
	k.ticket.fill(s, &k.Access)
	s.mu.Lock()
	s.open++
	free := s.enqueueLocked(&k.ticket)
	if free && k.Heavy {
		s.startLocked(&k.ticket)
		free = false
	}
	if free {
		s.count.inline++
	}
	s.mu.Unlock()
	if !free {
		return false
	}
	k.Work.Run()
	s.mu.Lock()
	s.releaseLocked(&k.ticket)
	s.doneLocked(1)
	s.mu.Unlock()
	return true
}

// claimMax bounds the tasks that run under one claim, and so how long a slot stays locked for later
// tasks of the claim.
const claimMax = 64

// SubmitAll is Submit for each task in order, but in one pass through the mutex it claims as many
// of the next tasks as may run now. It runs those one after the other. Tasks of one claim may share
// slots. If claimed is set it is called with each claim before the claim runs. SubmitAll returns
// true if all tasks have run.
func (s *Scheduler) SubmitAll(ks []*Task, claimed func([]*Task)) bool {
	all := true
	for len(ks) > 0 {
		n := s.claim(ks)
		if n == 0 {
			all = s.Submit(ks[0]) && all
			ks = ks[1:]
			continue
		}
		if claimed != nil {
			claimed(ks[:n])
		}
		for _, k := range ks[:n] {
			k.Work.Run()
		}
		s.unclaim(ks[:n])
		ks = ks[n:]
	}
	return all
}

// claim takes the tickets of the longest run of tasks from the front that may run now, under one
// permit.
func (s *Scheduler) claim(ks []*Task) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.permits.any() {
		return 0
	}
	s.batch++
	n := 0
	for n < len(ks) && n < claimMax && !ks[n].Heavy {
		t := &ks[n].ticket
		t.task = ks[n]
		t.fill(s, &ks[n].Access)
		if !s.claimLocked(t) {
			break
		}
		n++
	}
	if n > 0 {
		s.permits.free--
		s.open += n
		s.count.tickets += uint64(n)
		s.count.inline += uint64(n)
	}
	return n
}

// claimLocked takes all places of a ticket if each is free or held by this claim.
func (s *Scheduler) claimLocked(t *Ticket) bool {
	for i := range t.places {
		r := &s.rows[t.places[i].row]
		own := r.exclusive > 0 && r.batch == s.batch
		if r.queue.head != nil || !(own || r.fits(t.places[i].mode)) {
			return false
		}
	}
	for i := range t.places {
		p := &t.places[i]
		r := &s.rows[p.row]
		r.hold(p)
		if p.mode == Exclusive {
			r.batch = s.batch
		}
	}
	t.running = true
	return true
}

func (s *Scheduler) unclaim(ks []*Task) {
	s.mu.Lock()
	for _, k := range ks {
		for i := range k.ticket.places {
			s.leaveLocked(&k.ticket.places[i])
		}
		k.ticket.running = false
	}
	s.permits.free++ // the permit of the claim
	s.grantPermitsLocked()
	s.doneLocked(len(ks))
	s.mu.Unlock()
}

// Enqueue takes a ticket for the caller, who must call Wait next.
func (s *Scheduler) Enqueue(t *Ticket, a *Access) {
	t.task = nil
	t.fill(s, a)
	if t.ready == nil {
		t.ready = make(chan struct{}, 1)
	}
	s.mu.Lock()
	s.noteMomentLocked(t)
	t.running = s.enqueueLocked(t)
	s.mu.Unlock()
}

func (s *Scheduler) noteMomentLocked(t *Ticket) {
	if s.moment != nil {
		t.Moment = s.moment()
	}
}

// Wait waits until the ticket may run. After an error the ticket has left its queues. Otherwise the
// caller must call Unlock.
func (s *Scheduler) Wait(ctx context.Context, t *Ticket) error {
	s.mu.Lock()
	running := t.running
	s.mu.Unlock()
	if running && len(t.ready) == 0 {
		return nil
	}
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return s.cancel(ctx, t)
	}
}

// Lock takes a ticket and waits until it may run. Its error is a *WaitError.
func (s *Scheduler) Lock(ctx context.Context, t *Ticket, a *Access) error {
	return s.LockWithin(ctx, nil, t, a)
}

// Patient limits a wait. It is called when the wait begins.
type Patient func(context.Context) (context.Context, context.CancelFunc)

// LockWithin is Lock with a limit on the wait. With a nil patient it waits as long as ctx allows.
func (s *Scheduler) LockWithin(ctx context.Context, patient Patient, t *Ticket, a *Access) error {
	if s.tryLock(t, a, true) {
		return nil
	}
	if patient != nil {
		var cancel context.CancelFunc
		ctx, cancel = patient(ctx)
		defer cancel()
	}
	s.Enqueue(t, a)
	return s.Wait(ctx, t)
}

// TryLock takes a ticket if it may run at once. It is for brief work: the start is not recorded.
func (s *Scheduler) TryLock(t *Ticket, a *Access) bool { return s.tryLock(t, a, false) }

func (s *Scheduler) tryLock(t *Ticket, a *Access, timed bool) bool {
	t.task = nil
	t.fill(s, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range t.places {
		if r := &s.rows[t.places[i].row]; r.queue.head != nil || !r.fits(t.places[i].mode) {
			return false
		}
	}
	if !s.permits.grab(t) {
		return false
	}
	s.noteMomentLocked(t)
	for i := range t.places {
		s.rows[t.places[i].row].hold(&t.places[i])
	}
	s.count.tickets++
	if timed {
		t.beganNs = s.now()
	}
	return true
}

// Unlock releases a ticket that was allowed to run.
func (s *Scheduler) Unlock(t *Ticket) {
	s.mu.Lock()
	s.releaseLocked(t)
	s.mu.Unlock()
}

// cancel removes a ticket from all queues, or releases it if it was granted meanwhile. The error
// says what the ticket waited for.
func (s *Scheduler) cancel(ctx context.Context, t *Ticket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-t.ready:
		s.releaseLocked(t)
		return ctx.Err()
	default:
	}
	gaveUp := &WaitError{Cause: ctx.Err(), By: s.aheadLocked(t), WaitedNs: s.now() - t.sinceNs}
	if t.missing == 0 {
		s.permits.drop(t)
	} else {
		s.count.waiting--
	}
	for i := range t.places {
		p := &t.places[i]
		r := &s.rows[p.row]
		if p.granted {
			r.letGo(p)
		} else {
			r.queue.drop(p)
		}
		s.grantLocked(r)
	}
	return gaveUp
}

// Drain waits until no task is open. Readers may still be. Only the goroutine that submits may call
// it.
func (s *Scheduler) Drain() {
	s.mu.Lock()
	for s.open > 0 {
		s.quiet.Wait()
	}
	s.mu.Unlock()
}

// Close drains the table and ends its workers.
func (s *Scheduler) Close() {
	s.Drain()
	s.workers.close()
}
