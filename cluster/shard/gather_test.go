package shard

import (
	"sync"
	"testing"
	"time"
)

// slow is a commit that takes longer than clients need to come back.
const slow = time.Hour

// held begins a wait after an entry of n bundles, with some bundles queued.
func held(g *gathering, n, queued int, took time.Duration) bool {
	return g.hold(n, queued, true, took, time.Now(), func() {})
}

func TestAnEntryWaitsForThoseJustAnswered(t *testing.T) {
	var g gathering
	if g.full(5) || g.vain(5, time.Now()) {
		t.Error("nobody waits, and a wait ends")
	}
	if held(&g, 1, 0, slow) || held(&g, 0, 4, slow) {
		t.Error("waits though nobody else is to come")
	}
	if !held(&g, 3, 1, slow) {
		t.Fatal("does not wait for three who were just answered")
	}
	if g.full(3) || !g.full(4) || g.full(4) {
		t.Error("the wait does not end with the last, and once")
	}
	// One of eight may be late.
	for _, c := range []struct{ n, full int }{{8, 7}, {50, 44}} {
		if !held(&g, c.n, 0, slow) || g.full(c.full-1) || !g.full(c.full) {
			t.Errorf("of %d, the wait does not end with %d", c.n, c.full)
		}
	}
}

// A node that votes alone waits for half of the bundles if a commit is faster than the clients.
func TestHalfIsEnoughForOneThatVotesAlone(t *testing.T) {
	const took = 300 * time.Microsecond
	hold := func(pace time.Duration, alone bool, queued int) *gathering {
		g := &gathering{pace: pace}
		if g.hold(25, queued, alone, took, time.Now(), func() {}) {
			return g
		}
		return nil
	}
	if g := hold(10*time.Microsecond, true, 15); g == nil || g.full(19) || !g.full(20) {
		t.Error("does not wait for half of forty")
	}
	if hold(10*time.Microsecond, true, 25) != nil {
		t.Error("half is there, and it waits")
	}
	if g := hold(time.Microsecond, true, 15); g == nil || g.full(34) || !g.full(35) {
		t.Error("clients are quicker, and it does not wait for all")
	}
	if g := hold(10*time.Microsecond, false, 15); g == nil || g.full(34) || !g.full(35) {
		t.Error("there are followers, and it does not wait for all")
	}
}

// The pace follows the speed at which clients come.
func TestThePaceIsLearnt(t *testing.T) {
	var g gathering
	for range 100 {
		now := time.Now()
		g.hold(12, 2, true, slow, now, func() {})
		g.vain(7, now.Add(10*time.Millisecond))
		g.rest = 0
	}
	if g.pace < 1900*time.Microsecond || g.pace > 2*time.Millisecond {
		t.Errorf("five have come in 10 ms, again and again, and the pace is %v", g.pace)
	}
}

// Waits in vain become rare if clients do not come back, and stay rare if one client pauses now and
// then.
func TestWaitsInVainBecomeRare(t *testing.T) {
	var g gathering
	waits := func(entries int, vain func(wait int) bool) (waited, lost int) {
		for range entries {
			if !held(&g, 10, 0, slow) {
				continue
			}
			if waited++; vain(waited) {
				lost++
				g.vain(1, time.Now())
			} else {
				g.full(10)
			}
		}
		return waited, lost
	}
	if waited, _ := waits(10_000, func(int) bool { return true }); waited > 25 {
		t.Errorf("%d of 10000 entries waited in vain", waited)
	}
	if waited, _ := waits(100_000, func(int) bool { return false }); waited < 90_000 {
		t.Errorf("clients come back, and %d of 100000 entries waited for them", waited)
	}
	if _, lost := waits(100_000, func(wait int) bool { return wait%4 == 0 }); lost > 2_000 {
		t.Errorf("%d of 100000 entries waited in vain for clients that pause", lost)
	}
}

// Clients come back at once, and later one of them does not: all others are answered.
func TestNobodyIsHeldUpByOneWhoDoesNotComeBack(t *testing.T) {
	w := newShardWorld(t, 1, nil)
	leader := w.leader()
	w.until("it serves", leader.shard.Leads)
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
