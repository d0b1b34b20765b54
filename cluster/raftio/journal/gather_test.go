package journal

import (
	"sync"
	"testing"
	"time"
)

// Groups that append one entry after another need about one write per round, not two: groups that
// were just written are in time for the next write.
func TestGroupsThatWriteAllTheTimeLeaveTogether(t *testing.T) {
	const groups, rounds = 8, 30
	d := newDisk()
	j := opened(t, d)
	j.gathering.least = time.Second
	// The first write lasts until all the others wait.
	d.gate, d.entered = make(chan struct{}), make(chan struct{}, groups*rounds)
	var all sync.WaitGroup
	for g := range uint32(groups) {
		l := j.Group(g)
		all.Go(func() {
			for i := range uint64(rounds) {
				if err := l.StoreLogs(entries(i+1, i+1, 1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	<-d.entered
	waiting(t, j, groups-1)
	close(d.gate)
	all.Wait()
	if d.appends < rounds || d.appends > rounds*3/2 {
		t.Errorf("%d writes for %d rounds of %d groups", d.appends, rounds, groups)
	}
	t.Logf("%d writes for %d rounds of %d groups", d.appends, rounds, groups)
}

// A single group never waits for others, nor does it after the others have stopped.
func TestAloneNobodyIsWaitedFor(t *testing.T) {
	j := opened(t, newDisk())
	g := &j.gathering
	// A journal that has waited in vain skips waits now, or will after the next one.
	waits := func(took time.Duration, expected, waiting int, ended time.Time) bool {
		g.took, g.expected, g.ended = took, expected, ended
		j.queue = make([]*request, waiting)
		rest, restNext := g.rest, g.restNext
		j.mu.Lock()
		defer j.mu.Unlock()
		j.gatherLocked()
		return g.restNext != restNext || g.rest > rest
	}
	const took = 200 * time.Millisecond
	if waits(took, 1, 1, time.Now()) {
		t.Error("it waited though all who were expected are there")
	}
	waited := 0
	for range 100 {
		if waits(took, 2, 1, time.Now()) {
			waited++
		}
	}
	if waited == 0 || waited > 10 {
		t.Errorf("waited in vain %d times of 100", waited)
	}
	g.rest = 0
	if waits(took, 2, 1, time.Now().Add(-took)) {
		t.Error("it waited for those who had been gone for long")
	}
}
