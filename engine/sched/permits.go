package sched

// One of reserveShare permits is reserved for work that never takes long. Without the reserve, long
// commands could take all permits, and then all other commands would wait for them, whatever their
// keys.
const reserveShare = 4

// permits caps how many tickets run at once. Each takes one permit, whatever it locks. A ticket
// that finds no permit waits for its turn and keeps its slots. But a ticket with a permit never
// waits for a slot, so the wait ends.
type permits struct {
	free, limit int
	// longFree is how many of the free permits long work may have.
	longFree int
	// queue holds the tickets that wait, except those of long work, which long holds. The ticket
	// with the earlier turn goes first.
	queue, long queue
	turns       uint64
	waiting     int
}

func (p *permits) init(limit int) {
	p.free, p.limit, p.longFree = limit, limit, limit-limit/reserveShare
}

// LongPermits is how many commands that take long may run at once.
func (s *Scheduler) LongPermits() int { return s.permits.limit - s.permits.limit/reserveShare }

// any reports whether a new ticket gets a permit at once.
func (p *permits) any() bool { return p.free > 0 && p.queue.head == nil }

// grab gives the ticket a permit unless another ticket waits for that permit.
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

// grabOrQueue gives the ticket a permit, or a place in the queue for one.
func (p *permits) grabOrQueue(t *Ticket) bool {
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

// next gives a free permit to the first ticket that waits. It returns nil if there is no free
// permit or no such ticket.
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
