package journal

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Groups that append one entry after another need a write for each round, not two:
// those that were just written do not miss the next one. A group that is alone then
// does not wait for those that have gone, but a few times.
func TestGroupsThatWriteAllTheTimeLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, rounds = 8, 30
		d := newDisk()
		j := opened(t, d)
		// The disk takes no time.
		j.delay.Least = time.Second
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
		synctest.Wait()
		close(d.gate)
		all.Wait()
		if d.appends < rounds || d.appends > rounds*3/2 {
			t.Errorf("%d writes for %d rounds of %d groups", d.appends, rounds, groups)
		}
		t.Logf("%d writes for %d rounds of %d groups", d.appends, rounds, groups)

		began := time.Now()
		for i := range uint64(100) {
			must(t, j.Group(0).StoreLogs(entries(rounds+i+1, rounds+i+1, 1)))
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("one that is alone waited %v for others", took)
		}
	})
}

// An append goes on when it has waited for a group in vain.
func TestAnAppendDoesNotWaitForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := opened(t, newDisk())
		j.delay.Least = time.Second
		began := time.Now()
		j.delay.Landed(began, 2, 0, false)
		must(t, j.Group(0).StoreLogs(entries(1, 1, 1)))
		if took := time.Since(began); took != time.Second {
			t.Errorf("it waited %v", took)
		}
		must(t, j.Group(0).StoreLogs(entries(2, 2, 1)))
		if took := time.Since(began); took != time.Second {
			t.Error("alone, it waited again")
		}
	})
}
