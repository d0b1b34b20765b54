package shard

import "time"

const (
	// gatherMin and gatherMax bound the wait for clients that were just answered. It is
	// as long as the entry before took: with a shorter one, all that leave together are
	// written no later than halves that take turns would be.
	gatherMin = time.Millisecond
	gatherMax = 4 * time.Millisecond
	// gatherLaggards: one of so many is not waited for, but taken along by the next.
	gatherLaggards = 8
	// gatherEnough is how many bundles are worth an entry in any case.
	gatherEnough = 64
	// gatherRestMax bounds how many entries leave without waiting after waiting was in
	// vain.
	gatherRestMax = 1024
	// gatherTrust is how many waits that were of use outweigh about one in vain: a
	// client that pauses now and then must not cost the others that time each time.
	gatherTrust = 16
)

// gathering lets clients that write all the time leave together.
//
// Who was answered sends its next write a moment later. If an entry left at once,
// with what had come while the one before it was written, the clients would fall
// into groups that take turns, and there would be an entry for each; an entry costs
// as much as a dozen writes in it. So an entry waits for as many bundles as were in
// the one before it and behind it. Where they do not come, for these clients have
// something else to do, this is tried less and less often.
type gathering struct {
	// holding: an entry waits, until want bundles are queued or the timer ends.
	holding bool
	want    int
	timer   *time.Timer
	// rest is how many entries do not wait; restNext is how many when next in vain,
	// times gatherTrust.
	rest, restNext int
}

// hold makes the next entry wait until want bundles are queued, or late is called;
// false: it should leave at once.
func (g *gathering) hold(want, queued int, took time.Duration, late func()) bool {
	want = min(want-want/gatherLaggards, gatherEnough)
	if queued >= want || want < 2 {
		return false
	}
	if g.rest > 0 {
		g.rest--
		return false
	}
	g.holding, g.want = true, want
	limit := min(max(took, gatherMin), gatherMax)
	if g.timer == nil {
		g.timer = time.AfterFunc(limit, late)
	} else {
		g.timer.Reset(limit)
	}
	return true
}

// full ends the wait if all have come.
func (g *gathering) full(queued int) bool {
	if !g.holding || queued < g.want {
		return false
	}
	g.timer.Stop()
	g.holding = false
	g.restNext -= g.restNext / gatherTrust
	return true
}

// vain ends the wait, if there is one, for not all have come.
func (g *gathering) vain() bool {
	if !g.holding {
		return false
	}
	g.holding = false
	g.rest = g.restNext / gatherTrust
	g.restNext = min(max(2*g.restNext, gatherTrust), gatherRestMax*gatherTrust)
	return true
}
