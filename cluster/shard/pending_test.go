package shard

import "testing"

// TestAResultSaysWhetherItIsAlone: who brings one of many must not do what waited for
// it, for the others wait for him.
func TestAResultSaysWhetherItIsAlone(t *testing.T) {
	w := newShardWorld(t, 1, nil)
	w.set("k", "v")
	// What a leader begins with is over then.
	w.until("it serves", w.leader().shard.Leads)
	p := &w.leader().shard.propose
	// The entry on its way, so to speak: what comes meanwhile is in one entry.
	hold := func(yes bool) {
		p.mu.Lock()
		p.flying = yes
		p.mu.Unlock()
	}
	w.until("nothing is under way", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return !p.flying
	})
	for _, n := range []int{1, 2, 3} {
		hold(true)
		var answers []<-chan Result
		for range n {
			answers = append(answers, w.propose(w.leader(), "set", "k", "v"))
		}
		p.next()
		for _, answer := range answers {
			if r := <-answer; r.Err != nil || r.Alone != (n == 1) {
				t.Errorf("of %d: alone %v, %v", n, r.Alone, r.Err)
			}
		}
		w.until("nothing is under way", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return !p.flying
		})
	}
}
