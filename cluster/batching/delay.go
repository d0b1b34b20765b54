// Package batching decides how long a batch waits for more before it leaves.
package batching

import "time"

// paceShare is the part that the newest wait has in the pace.
const paceShare = 8

// Limits say how a Delay waits.
type Limits struct {
	// Share is how long to wait, as a part of the time that the last batch took; but at
	// least Least, and at most Most.
	Share       float64
	Least, Most time.Duration
	// Missing is the part of those expected that is not waited for: the next batch
	// takes them along.
	Missing float64
	// AnyIsEnough is true if a wait was of use though only some have come.
	AnyIsEnough bool
	// RestMax bounds how many batches leave without waiting after a wait in vain.
	RestMax float64
	// Trust is how many waits that were of use outweigh about one in vain: a client
	// that pauses now and then must not cost the others that time each time.
	Trust float64
}

// Delay lets clients that send all the time leave together.
//
// A client that was answered sends its next request a moment later. Suppose a batch
// left at once, with the requests that had come while the batch before it was written.
// Then the clients would fall into several groups that take turns, with a batch for
// each group, and a batch costs much more than a request in it. So a batch waits until
// as many requests have come as were in the batch before it and behind that one. If the
// clients do not come back, because they have something else to do, waiting is tried
// less and less often.
//
// The methods need a lock of the caller, the one that guards its queue. Where they ask
// for waiting, that is how many requests wait now.
type Delay struct {
	Limits
	// want is how many requests the next batch should have. The last one took so long.
	want   int
	took   time.Duration
	landed time.Time
	// on is true during a wait, which began then, with so many requests.
	on     bool
	began  time.Time
	before int
	timer  *time.Timer
	// pace is about how long it takes until one more has come.
	pace time.Duration
	// rest is how many batches do not wait; penalty is how many after the next wait in vain.
	rest    int
	penalty float64
}

// New makes a Delay, which calls late when the time of a wait is over. late should take the
// lock and call Late.
func New(limits Limits, late func()) *Delay {
	d := &Delay{Limits: limits, timer: time.AfterFunc(time.Hour, late)}
	d.timer.Stop()
	return d
}

// Landed notes that a batch of n requests, which left at began, was written. With half, the
// next one waits for half of the requests only if clients come more slowly than batches
// land: then the disk works for one half while the other half is answered.
func (d *Delay) Landed(began time.Time, n, waiting int, half bool) {
	d.landed = time.Now()
	d.took, d.want = d.landed.Sub(began), n+waiting
	if half && d.took < time.Duration(d.want)*d.pace {
		d.want = (d.want + 1) / 2
	} else {
		d.want -= int(d.Missing * float64(d.want))
	}
}

// Start makes the next batch wait, until Full or Late say that it may leave. It returns
// false if the batch should leave at once.
func (d *Delay) Start(waiting int) bool {
	if waiting >= d.want || d.want < 2 {
		return false
	}
	if d.rest > 0 {
		d.rest--
		return false
	}
	d.began, d.before = time.Now(), waiting
	limit := min(max(time.Duration(d.Share*float64(d.took)), d.Least), d.Most) - d.began.Sub(d.landed)
	if d.on = limit > 0; d.on {
		d.timer.Reset(limit)
	}
	return d.on
}

// Full ends the wait if there is one and all have come.
func (d *Delay) Full(waiting int) bool {
	if !d.on || waiting < d.want {
		return false
	}
	d.timer.Stop()
	d.end(waiting, true)
	return true
}

// Late ends the wait if there is one, because its time is over.
func (d *Delay) Late(waiting int) bool {
	if !d.on {
		return false
	}
	d.end(waiting, d.AnyIsEnough && waiting > d.before)
	return true
}

// end learns from a wait how fast requests come, and whether they come.
func (d *Delay) end(waiting int, useful bool) {
	d.on = false
	each := time.Since(d.began) / time.Duration(max(waiting-d.before, 1))
	d.pace += (each - d.pace) / paceShare
	if useful {
		d.penalty -= d.penalty / d.Trust
		return
	}
	d.rest = int(d.penalty)
	d.penalty = min(max(2*d.penalty, 1), d.RestMax)
}
