package shard

import (
	"sync"
	"testing"
	"time"
)

// Clients that come back at once, then one of them less: each is answered.
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
