package shard

import (
	"sync"
	"testing"
	"time"
)

func TestAnEntryWaitsForThoseJustAnswered(t *testing.T) {
	var g gathering
	if g.full(5) || g.vain() {
		t.Error("nobody waits, and a wait ends")
	}
	if g.hold(1, 0, 0, nil) || g.hold(4, 4, 0, nil) {
		t.Error("waits though nobody else is to come")
	}
	if !g.hold(4, 1, 0, func() {}) {
		t.Fatal("does not wait for three who were just answered")
	}
	if g.full(3) || !g.full(4) || g.full(4) {
		t.Error("the wait does not end with the last, and once")
	}
	// One of eight may be late, and so many are enough.
	for _, c := range []struct{ want, full int }{{8, 7}, {50, 44}, {500, gatherEnough}} {
		if !g.hold(c.want, 0, 0, func() {}) || g.full(c.full-1) || !g.full(c.full) {
			t.Errorf("of %d, the wait does not end with %d", c.want, c.full)
		}
	}
}

// Waits in vain are rare where clients do not come back, and so they stay where
// one pauses now and then.
func TestWaitsInVainBecomeRare(t *testing.T) {
	var g gathering
	holds := func(entries int, vain func(hold int) bool) (held, lost int) {
		for range entries {
			if !g.hold(10, 0, 0, func() {}) {
				continue
			}
			if held++; vain(held) {
				lost++
				g.vain()
			} else {
				g.full(10)
			}
		}
		return held, lost
	}
	if held, _ := holds(10_000, func(int) bool { return true }); held > 25 {
		t.Errorf("%d of 10000 entries waited in vain", held)
	}
	if held, _ := holds(100_000, func(int) bool { return false }); held < 90_000 {
		t.Errorf("clients come back, and %d of 100000 entries waited for them", held)
	}
	if _, lost := holds(100_000, func(hold int) bool { return hold%4 == 0 }); lost > 2_000 {
		t.Errorf("%d of 100000 entries waited in vain for clients that pause", lost)
	}
}

// Clients that come back at once, then one of them less: each is answered.
func TestNobodyIsHeldUpByOneWhoDoesNotComeBack(t *testing.T) {
	w := newShardWorld(t, 1, nil)
	leader := w.leader()
	for clients := 6; clients > 0; clients-- {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range 20 {
					if r := <-w.propose(leader, "incr", "n"); r.Err != nil {
						t.Error(r.Err)
					}
				}
			})
		}
		all.Wait()
	}
	if got, err := w.get(leader, "n", time.Minute); got != "$3\r\n420\r\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
