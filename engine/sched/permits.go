package sched

// permits caps how many tickets run at once: one each, whatever they lock. Who
// finds none waits its turn; it holds its slots meanwhile, but who has a permit
// never waits for a slot, so the wait ends.
type permits struct {
	free, limit int
	head, tail  *Ticket
	waiting     int
}

// take gives the ticket a permit, or a place in the queue for one.
func (p *permits) take(t *Ticket) bool {
	if p.free > 0 && p.head == nil {
		p.free--
		t.running = true
		return true
	}
	t.next, t.prev = nil, p.tail
	if p.tail == nil {
		p.head = t
	} else {
		p.tail.next = t
	}
	p.tail = t
	p.waiting++
	return false
}

func (p *permits) pop() *Ticket {
	t := p.head
	p.drop(t)
	return t
}

// drop takes a ticket out of the queue.
func (p *permits) drop(t *Ticket) {
	if t.prev == nil {
		p.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		p.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.next, t.prev = nil, nil
	p.waiting--
}
