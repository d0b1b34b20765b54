package sched

// row is one lock slot, or the global row, with the tickets that hold it and wait for it.
type row struct {
	shared, exclusive int32
	// batch is the claim that holds the row exclusively. Tasks of one claim run one after the
	// other, so all of them may hold it.
	batch uint64
	// holder is the last ticket that got the row exclusively. readers are the places that share the
	// row. Both are for Slots.
	holder  *Ticket
	readers *place
	// queue holds the places that are not granted yet.
	queue queue
	// waited and waitNs count the tickets that had to wait here.
	waited uint64
	waitNs int64
}

// place is a ticket's place in one row.
type place struct {
	ticket *Ticket
	row    int32
	mode   Mode
	// granted is false while the place is in the row's queue.
	granted bool
	// unlisted is set if the place is not among the row's readers. Places in the global row, which
	// all keyed work shares, must not touch each other's memory.
	unlisted bool
	// next and prev are the neighbours in a queue, and later among the readers.
	next, prev *place
}

// queue holds places in order of arrival.
type queue struct{ head, tail *place }

func (q *queue) push(p *place) {
	p.next, p.prev = nil, q.tail
	if q.tail == nil {
		q.head = p
	} else {
		q.tail.next = p
	}
	q.tail = p
}

func (q *queue) pop() *place {
	p := q.head
	q.drop(p)
	return p
}

// drop removes a place from any position.
func (q *queue) drop(p *place) {
	if p.prev == nil {
		q.head = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		q.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.next, p.prev = nil, nil
}

func (r *row) fits(m Mode) bool {
	return r.exclusive == 0 && (m == Shared || r.shared == 0)
}

func (r *row) hold(p *place) {
	p.granted = true
	if p.mode == Exclusive {
		r.exclusive++
		r.holder = p.ticket
		return
	}
	r.shared++
	if p.unlisted {
		return
	}
	p.next, p.prev = r.readers, nil
	if p.next != nil {
		p.next.prev = p
	}
	r.readers = p
}

func (r *row) letGo(p *place) {
	if p.mode == Exclusive {
		r.exclusive--
		if r.exclusive == 0 {
			r.holder, r.batch = nil, 0
		}
		return
	}
	r.shared--
	if p.unlisted {
		return
	}
	if p.prev == nil {
		r.readers = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	}
	p.next, p.prev = nil, nil
}

// Ticket is a place in the queues of all lock slots of an access, taken at one instant. The zero
// value is ready, and a ticket can be used again after Unlock. It must not be copied while it is in
// use.
type Ticket struct {
	// Label names the work in the list of running work, Detail the program that it runs. Both are
	// optional.
	Label, Detail string
	// Long is set if the work may take long: it leaves some permits to other work.
	Long bool
	// Moment is the result of Config.Moment when the ticket was taken.
	Moment int64

	places []place
	// few has room for the places of most tickets: the global row and one slot.
	few [2]place
	// missing is the number of places not granted yet.
	missing int
	// task runs when the ticket is granted. If it is nil a caller waits on ready.
	task    *Task
	ready   chan struct{}
	running bool
	// sinceNs is when the ticket began to wait, beganNs when it began to run. Each is 0 if it was
	// not recorded, as for brief work.
	sinceNs, beganNs int64
	// turn is the ticket's place among those that wait for a permit, and turnNo the number of its
	// turn.
	turn   place
	turnNo uint64
}

// fill sets the places of an access.
func (t *Ticket) fill(s *Scheduler, a *Access) {
	if t.places == nil {
		t.places = t.few[:0]
	}
	t.places = t.places[:0]
	switch {
	case a.Global:
		// Shared would not be simpler: it would still have to keep writers of single slots out,
		// which hold the global row shared themselves.
		t.places = append(t.places, place{ticket: t, row: s.globalRow, mode: Exclusive})
	case len(a.Slots) > 0:
		t.places = append(t.places, place{ticket: t, row: s.globalRow, mode: Shared, unlisted: true})
		for _, x := range a.Slots {
			t.places = append(t.places, place{ticket: t, row: x.Slot, mode: x.Mode})
		}
	}
	t.missing, t.running, t.sinceNs, t.beganNs = 0, false, 0, 0
}

// Runner does a task's work.
type Runner interface {
	Run()
}

// Task is one unit of the log's work. It belongs to the Scheduler from Submit until its Run has
// returned.
type Task struct {
	// Access is the set of locks that the task needs.
	Access Access
	// Heavy tasks run on a worker even if they could run at once.
	Heavy bool
	// Work runs once, with the locks of the access and a permit. It must not panic.
	Work Runner

	ticket Ticket
	// runsAt is the task's index among those that workers run.
	runsAt int
}

// SetLabel names the task, and the program that it runs, if any, in the list of running work.
func (k *Task) SetLabel(label, detail string) { k.ticket.Label, k.ticket.Detail = label, detail }
