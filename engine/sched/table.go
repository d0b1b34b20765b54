package sched

// row is one lock slot, or the global row, and who holds and awaits it.
type row struct {
	shared, exclusive int32
	// batch is the claim that holds the row exclusively; tasks of one claim run
	// one after the other and may all hold it.
	batch uint64
	// holder is the last ticket that got the row exclusively, readers are the places
	// of those who share it, for Slots.
	holder  *Ticket
	readers *place
	// queue holds the places that are not granted yet.
	queue queue
	// waited and waitNs count the tickets that had to wait here.
	waited uint64
	waitNs int64
}

// place is a ticket's stand in one row.
type place struct {
	ticket *Ticket
	row    int32
	mode   Mode
	// granted is false while the place is in the row's queue.
	granted bool
	// unlisted: it is not among the row's readers. Those of the global row, which all
	// keyed work shares, are not to touch each other.
	unlisted bool
	// next and prev are the neighbours in a queue, and then among the readers.
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

// drop takes a place out, wherever it stands.
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

// Ticket is a place in the queues of all lock slots of an access, taken at one
// instant. The zero value is ready; a ticket can be used again after Unlock. It
// must not be copied while in use.
type Ticket struct {
	// Label names the work in the list of what runs, Detail the program that it runs. Both
	// are optional.
	Label, Detail string
	// Long: the work may take long, and leaves some permits to what does not.
	Long bool
	// Moment is what Config.Moment said when the ticket was taken.
	Moment int64

	places []place
	// few is room for the places of most tickets: the global row and one slot.
	few [2]place
	// missing is the number of places not granted yet.
	missing int
	// task is what runs when the ticket is granted; nil: somebody waits on ready.
	task    *Task
	ready   chan struct{}
	running bool
	// sinceNs is when it began to wait, beganNs when it began to run: 0 where that was not
	// noted, for what is brief.
	sinceNs, beganNs int64
	// turn is the ticket's stand among those that wait for a permit, and turnNo its number.
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
		// Shared, the whole table would still have to keep writers of single slots
		// out, who hold the global row shared themselves.
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

// Task is one unit of the log's work. It belongs to the Scheduler from Submit
// until its Run has returned.
type Task struct {
	// Access is what the task locks.
	Access Access
	// Heavy tasks are handed to a worker even when they could run at once.
	Heavy bool
	// Work is run once, under the access and a permit. It must not panic.
	Work Runner

	ticket Ticket
	// runsAt is the task's place among those that workers run.
	runsAt int
}

// SetLabel names the task, and the program that it runs, if any, in the list of what runs.
func (k *Task) SetLabel(label, detail string) { k.ticket.Label, k.ticket.Detail = label, detail }
