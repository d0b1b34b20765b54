package sched

// permits caps how many tickets run at once: one each, whatever they lock. Who
// finds none waits its turn; it holds its slots meanwhile, but who has a permit
// never waits for a slot, so the wait ends.
type permits struct {
	free, limit int
	queue       queue
	waiting     int
}

// any tells whether who comes now gets a permit at once.
func (p *permits) any() bool { return p.free > 0 && p.queue.head == nil }

// take gives the ticket a permit, or a place in the queue for one.
func (p *permits) take(t *Ticket) bool {
	if p.any() {
		p.free--
		t.running = true
		return true
	}
	t.turn.ticket = t
	p.queue.push(&t.turn)
	p.waiting++
	return false
}

// next gives the permit that is free to the first who waits for one; nil: there is
// none, or nobody does.
func (p *permits) next() *Ticket {
	if p.free == 0 || p.queue.head == nil {
		return nil
	}
	t := p.queue.pop().ticket
	p.waiting--
	p.free--
	t.running = true
	return t
}

// drop takes a ticket out of the queue.
func (p *permits) drop(t *Ticket) {
	p.queue.drop(&t.turn)
	p.waiting--
}
