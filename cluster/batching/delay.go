// Package batching decides how long a batch waits for more before it leaves.
package batching

import "time"

// paceShare is the part that the newest wait has in the pace.
const paceShare = 8

// Limits say how a Delay waits.
type Limits struct {
	// Share is the length of a wait as a part of the time that the last batch took. A wait
	// is never shorter than Least and never longer than Most.
	Share       float64
	Least, Most time.Duration
	// Missing is the part of the expected requests that a batch leaves without: the next
	// batch takes them along.
	Missing float64
	// AnyIsEnough is true if a wait counts as useful when at least one request came.
	// Otherwise it is useful only if all expected requests came.
	AnyIsEnough bool
	// RestMax is the most batches that leave at once after a wait that was not useful.
	RestMax float64
	// Trust is about how many useful waits make up for one that was not: a client that
	// pauses now and then must not delay the others each time.
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
// The caller holds the lock of its queue while it calls a method. The parameter waiting
// is the number of requests in that queue.
type Delay struct {
	Limits
	// want is how many requests the next batch should have. took is the time that the last
	// batch took, and landed the moment when it was written.
	want   int
	took   time.Duration
	landed time.Time
	// on is true during a wait. began is its beginning, and before the number of requests
	// that were in the queue then.
	on     bool
	began  time.Time
	before int
	timer  *time.Timer
	// pace is the average time between two requests that arrive during a wait.
	pace time.Duration
	// rest is how many of the next batches leave at once. penalty becomes rest after the
	// next wait that is not useful.
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

// Full ends a wait for which all expected requests have come. It returns false if there is
// no wait, or if requests are missing.
func (d *Delay) Full(waiting int) bool {
	if !d.on || waiting < d.want {
		return false
	}
	d.timer.Stop()
	d.end(waiting, true)
	return true
}

// Late ends a wait because its time is over. It returns false if there is no wait.
func (d *Delay) Late(waiting int) bool {
	if !d.on {
		return false
	}
	d.end(waiting, d.AnyIsEnough && waiting > d.before)
	return true
}

// end ends a wait, and updates pace, rest and penalty.
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
