package sched

// Holder describes work that holds locks.
type Holder struct {
	// Label is the command, Detail the program that it runs. They are "" if they are not known.
	Label, Detail string
	// RanNs is for how long it has run, 0 if that is not known.
	RanNs int64
	// beganNs is Ticket.beganNs.
	beganNs int64
}

// Name is the command, and the program that it runs.
func (h Holder) Name() string {
	if h.Detail == "" {
		return h.Label
	}
	return h.Label + " " + h.Detail
}

func (t *Ticket) holder() Holder { return Holder{Label: t.Label, Detail: t.Detail, beganNs: t.beganNs} }

// WaitError is the error of a caller that gave up waiting for its locks or a permit.
type WaitError struct {
	// Cause is the error of the context.
	Cause error
	// By is the work that was in the way when the caller gave up. WaitedNs is how long the caller
	// had waited.
	By       Holder
	WaitedNs int64
}

// Error implements error.
func (e *WaitError) Error() string { return "waited for " + e.By.Name() + ": " + e.Cause.Error() }

// Unwrap implements error.
func (e *WaitError) Unwrap() error { return e.Cause }

// Longest is the work that has held its locks for the longest time, among the work whose start was
// recorded. It is the zero Holder if there is none.
func (s *Scheduler) Longest() Holder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.toldLocked(s.longestLocked())
}

// InTheWay is the work that would keep a task of this access waiting, or the zero Holder.
func (s *Scheduler) InTheWay(a *Access) Holder {
	var t Ticket
	t.fill(s, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range t.places {
		p := &t.places[i]
		if r := &s.rows[p.row]; r.queue.head != nil || !r.fits(p.mode) {
			return s.toldLocked(s.inRowLocked(r))
		}
	}
	return Holder{}
}

// aheadLocked is the work that a ticket waits for. The ticket has not got all that it needs.
func (s *Scheduler) aheadLocked(t *Ticket) Holder {
	for i := range t.places {
		if p := &t.places[i]; !p.granted {
			return s.toldLocked(s.inRowLocked(&s.rows[p.row]))
		}
	}
	return s.toldLocked(s.longestLocked())
}

// inRowLocked is the work that keeps others out of a row. The global row does not list the keyed
// work that shares it. If a ticket waits there for keyed work, the result is the work that has run
// for the longest time.
func (s *Scheduler) inRowLocked(r *row) Holder {
	if r.holder != nil {
		return r.holder.holder()
	}
	var first Holder
	for p := r.readers; p != nil; p = p.next {
		if h := p.ticket.holder(); first.Label == "" || h.beganNs != 0 && h.beganNs < first.beganNs {
			first = h
		}
	}
	if first.Label == "" {
		first = s.longestLocked()
	}
	return first
}

func (s *Scheduler) longestLocked() (longest Holder) {
	for _, k := range s.workers.running {
		if h := k.ticket.holder(); longest.Label == "" || h.beganNs < longest.beganNs {
			longest = h
		}
	}
	return longest
}

// toldLocked fills in for how long a holder has run.
func (s *Scheduler) toldLocked(h Holder) Holder {
	if h.beganNs != 0 {
		h.RanNs = s.now() - h.beganNs
	}
	return h
}
