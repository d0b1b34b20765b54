package shard

import "time"

const (
	// gatherMin and gatherMax bound the wait for clients that were just answered. Between the
	// bounds the wait is twice as long as the entry before took.
	gatherMin = time.Millisecond
	gatherMax = 4 * time.Millisecond
	// gatherLaggards: the entry does not wait for one of so many clients; the next entry takes it
	// along.
	gatherLaggards = 8
	// gatherRestMax bounds how many entries leave without waiting after a wait that was in vain.
	gatherRestMax = 1024
	// gatherTrust is about how many useful waits outweigh one in vain: a client that pauses now and
	// then must not delay the others each time.
	gatherTrust = 16
	// paceShare: the newest wait counts as 1/paceShare of the pace.
	paceShare = 8
)

// gathering lets clients that write all the time leave together.
//
// A client that was answered sends its next write a moment later. Suppose an entry
// left at once, with the bundles that had come while the entry before it was written.
// Then the clients would fall into several groups that take turns, with an entry for each group,
// and an entry costs as much as a dozen writes in it. So an entry waits until as many bundles have
// come as were in the entry before it and behind that one.
//
// The entry waits for all of them: the clients write as much in the same time as in groups that
// take turns, and in fewer entries. A node that votes alone commits faster than clients come back.
// There the entry waits for half of the bundles, and the disk works for one half while the other
// half is answered; with followers an entry costs too much for that. If the clients do not come
// back, because they have something else to do, waiting is tried less and less often.
type gathering struct {
	// holding is true if an entry waits, until want bundles are queued or the timer ends.
	holding bool
	want    int
	timer   *time.Timer
	// began is when the wait began, and queued how many bundles were queued then.
	began  time.Time
	queued int
	// pace is about how long it takes until one more bundle has come.
	pace time.Duration
	// rest is how many entries do not wait. restNext is how many do not after the next wait in
	// vain, times gatherTrust.
	rest, restNext int
}

// hold makes the next entry wait for the clients that come back, or until late is
// called. It returns false if the entry should leave at once. n is the number of bundles
// in the entry that has just landed, took how long that entry took, and queued the number
// of bundles that wait now.
func (g *gathering) hold(n, queued int, alone bool, took time.Duration, now time.Time, late func()) bool {
	want := n + queued
	if alone && took < time.Duration(want)*g.pace {
		want = (want + 1) / 2
	} else {
		want -= want / gatherLaggards
	}
	if queued >= want || want < 2 {
		return false
	}
	if g.rest > 0 {
		g.rest--
		return false
	}
	g.holding, g.want, g.began, g.queued = true, want, now, queued
	limit := min(max(2*took, gatherMin), gatherMax)
	if g.timer == nil {
		g.timer = time.AfterFunc(limit, late)
	} else {
		g.timer.Reset(limit)
	}
	return true
}

// full ends the wait if all bundles have come.
func (g *gathering) full(queued int) bool {
	if !g.holding || queued < g.want {
		return false
	}
	g.timer.Stop()
	g.holding = false
	g.learn(queued, time.Now())
	g.restNext -= g.restNext / gatherTrust
	return true
}

// vain ends a wait in which not all bundles have come.
func (g *gathering) vain(queued int, now time.Time) bool {
	if !g.holding {
		return false
	}
	g.holding = false
	g.learn(queued, now)
	g.rest = g.restNext / gatherTrust
	g.restNext = min(max(2*g.restNext, gatherTrust), gatherRestMax*gatherTrust)
	return true
}

func (g *gathering) learn(queued int, now time.Time) {
	each := now.Sub(g.began) / time.Duration(max(queued-g.queued, 1))
	g.pace += (each - g.pace) / paceShare
}
