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
	t.next = nil
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
	p.head = t.next
	if p.head == nil {
		p.tail = nil
	}
	t.next = nil
	p.waiting--
	return t
}

// drop takes a ticket out of the queue.
func (p *permits) drop(t *Ticket) {
	var before *Ticket
	for q := p.head; q != t; q = q.next {
		before = q
	}
	if before == nil {
		p.pop()
		return
	}
	before.next = t.next
	if p.tail == t {
		p.tail = before
	}
	t.next = nil
	p.waiting--
}
