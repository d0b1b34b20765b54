package journal

import "time"

const (
	// gatherShare is the part of the last write's time that the holder of the pen
	// waits for others: 1 in gatherShare.
	gatherShare = 4
	// gatherRestMax bounds how many writes go without waiting after waiting was in
	// vain.
	gatherRestMax = 64
)

// gathering lets groups that write all the time leave together.
//
// Groups whose entries were written at one time have their next ones a moment
// later. If the pen went on at once, with what had come while the store worked,
// the groups would fall into two halves that take turns, and each would wait for
// two syncs instead of one. So who has the pen waits for those who were there
// the last time, for a part of what a write takes. Where they do not come, this
// is tried less and less often.
type gathering struct {
	// expected is how many were written or waited when the last write ended.
	expected int
	ended    time.Time
	took     time.Duration
	// least is how long to wait at least, for tests, whose disks take no time.
	least time.Duration
	// rest is how many writes do not wait, restNext how many when next in vain.
	rest, restNext int
	// full is told when all who are expected wait; nil while nobody gathers.
	full chan struct{}
}

// wrote notes a write of n requests, while others came to wait.
func (g *gathering) wrote(began time.Time, n, waiting int) {
	g.ended = time.Now()
	g.took, g.expected = g.ended.Sub(began), n+waiting
}

// arrived tells who gathers that one more waits.
func (g *gathering) arrived(waiting int) {
	if g.full != nil && waiting >= g.expected {
		close(g.full)
		g.full = nil
	}
}

// gatherLocked waits for those who are expected, if it is worth it. The lock is
// open meanwhile; the pen is the caller's.
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
