package sched

// reserveShare is the part of the permits, one of so many, that work has to itself which never
// takes long: where every permit was a long command's, all others would stand still for as long,
// whatever keys they name.
const reserveShare = 4

// permits caps how many tickets run at once: one each, whatever they lock. A
// ticket that finds no permit waits its turn. It holds its slots meanwhile; but a ticket
// with a permit never waits for a slot, so the wait ends.
type permits struct {
	free, limit int
	// longFree is how many of the free ones work may have that takes long.
	longFree int
	// queue holds those that wait, long those of them that take long. Whose turn is earlier goes
	// first.
	queue, long queue
	turns       uint64
	waiting     int
}

func (p *permits) init(limit int) {
	p.free, p.limit, p.longFree = limit, limit, limit-limit/reserveShare
}

// LongPermits is how many commands that take long may run at once.
func (s *Scheduler) LongPermits() int { return s.permits.limit - s.permits.limit/reserveShare }

// any reports whether who comes now gets a permit at once.
func (p *permits) any() bool { return p.free > 0 && p.queue.head == nil }

// grab gives the ticket a permit if nobody waits for that one.
func (p *permits) grab(t *Ticket) bool {
	if !p.any() || t.Long && (p.longFree <= 0 || p.long.head != nil) {
		return false
	}
	p.give(t)
	return true
}

func (p *permits) give(t *Ticket) {
	p.free--
	if t.Long {
		p.longFree--
	}
	t.running = true
}

// back takes a permit back.
func (p *permits) back(t *Ticket) {
	p.free++
	if t.Long {
		p.longFree++
	}
	t.running = false
}

// take gives the ticket a permit, or a place in the queue for one.
func (p *permits) take(t *Ticket) bool {
	if p.grab(t) {
		return true
	}
	p.turns++
	t.turn.ticket, t.turnNo = t, p.turns
	p.queueOf(t).push(&t.turn)
	p.waiting++
	return false
}

func (p *permits) queueOf(t *Ticket) *queue {
	if t.Long {
		return &p.long
	}
	return &p.queue
}

// next gives the permit that is free to the first who waits for one; nil: there is
// none, or nobody does.
func (p *permits) next() *Ticket {
	first := p.queue.head
	if long := p.long.head; long != nil && p.longFree > 0 && (first == nil || long.ticket.turnNo < first.ticket.turnNo) {
		first = long
	}
	if p.free == 0 || first == nil {
		return nil
	}
	t := first.ticket
	p.drop(t)
	p.give(t)
	return t
}

// drop takes a ticket out of the queue.
func (p *permits) drop(t *Ticket) {
	p.queueOf(t).drop(&t.turn)
	p.waiting--
}
