package journal

import "time"

const (
	// The holder of the pen waits for other groups for 1/gatherShare of the time that the last
	// write took.
	gatherShare = 4
	// gatherRestMax bounds how many writes do not wait after a wait that was in vain.
	gatherRestMax = 64
)

// gathering lets groups that write all the time be written together.
//
// Groups whose entries were written together have their next entries a moment later. If the holder
// of the pen wrote at once the requests that had come while the store worked, the groups would fall
// into two halves that take turns, and each would wait for two syncs instead of one. So the holder
// waits, for a part of the time that a write takes, until as many groups have come as the last
// time. If they do not come, it tries this less and less often.
type gathering struct {
	// expected is how many requests had been written or were waiting when the last write ended.
	expected int
	ended    time.Time
	took     time.Duration
	// least is the shortest wait. Tests set it, because their disks take no time.
	least time.Duration
	// rest is how many more writes do not wait, restNext how many do not after the next wait that
	// is in vain.
	rest, restNext int
	// full is sent to when all expected requests wait. It is nil while no holder gathers.
	full chan struct{}
}

// wrote records a write of n requests. waiting is how many requests came meanwhile.
func (g *gathering) wrote(began time.Time, n, waiting int) {
	g.ended = time.Now()
	g.took, g.expected = g.ended.Sub(began), n+waiting
}

// arrived informs a holder that gathers when enough requests wait.
func (g *gathering) arrived(waiting int) {
	if g.full != nil && waiting >= g.expected {
		close(g.full)
		g.full = nil
	}
}

// gatherLocked waits for the expected requests, if that is worthwhile. The lock is open meanwhile;
// the caller holds the pen.
func (j *Journal) gatherLocked() {
	g := &j.gathering
	if len(j.queue) >= g.expected {
		return
	}
	if g.rest > 0 {
		g.rest--
		return
	}
	left := max(g.took/gatherShare, g.least) - time.Since(g.ended)
	if left <= 0 {
		return
	}
	before := len(j.queue)
	full := make(chan struct{})
	g.full = full
	timer := time.NewTimer(left)
	j.mu.Unlock()
	select {
	case <-full:
	case <-timer.C:
	}
	timer.Stop()
	j.mu.Lock()
	g.full = nil
	if len(j.queue) > before {
		g.restNext = 1
		return
	}
	g.rest, g.restNext = g.restNext, min(2*max(g.restNext, 1), gatherRestMax)
}
