package shard

import (
	"bytes"
	"testing"

	"lockstep/fsm"
)

// TestAResultSaysWhetherItIsAlone: a goroutine that delivers one result of many must not run the
// work that waited for it, because the other results wait for this goroutine.
func TestAResultSaysWhetherItIsAlone(t *testing.T) {
	w := newShardWorld(t, 1, nil)
	w.set("k", "v")
	// By then the first entries of a leader have landed.
	w.until("it serves", w.leader().shard.Leads)
	p := &w.leader().shard.proposer
	// This stands for an entry on its way: bundles that come meanwhile go into one entry.
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

// The kept replies of one bundle are bounded: a reply that is too long in addition to the earlier
// ones is lost, and all others are delivered.
func TestTheRepliesOfABundleAreBounded(t *testing.T) {
	const n = 600
	long, short := bytes.Repeat([]byte("x"), 1<<20), []byte("+OK\r\n")
	var res Result
	c := newBundleCall(nil, n+1, func(r Result) { res = r }, &admission{})
	c.left.Store(n + 1)
	for i := range n {
		c.deliver(i, long, fsm.OutcomeDone, 0)
	}
	c.deliver(n, short, fsm.OutcomeDone, 0)
	kept := 0
	if last := res.Replies[n]; last.Outcome != fsm.OutcomeDone || !bytes.Equal(last.Bytes, short) {
		t.Errorf("a short one: %q, outcome %d", last.Bytes, last.Outcome)
	}
	for i, r := range res.Replies[:n] {
		switch {
		case r.Outcome == fsm.OutcomeDone && len(r.Bytes) == len(long):
			kept++
		case r.Outcome != fsm.OutcomeReplyLost || r.Bytes != nil:
			t.Errorf("%d: %d bytes, outcome %d", i, len(r.Bytes), r.Outcome)
		}
	}
	if want := repliesBytesMax >> 20; kept != want {
		t.Errorf("%d MB are kept, want %d", kept, want)
	}
	one := newBundleCall(nil, 1, func(r Result) { res = r }, &admission{})
	one.left.Store(1)
	one.deliver(0, make([]byte, repliesBytesMax+1), fsm.OutcomeDone, 0)
	if len(res.Replies[0].Bytes) != repliesBytesMax+1 {
		t.Error("a reply by itself is as long as the machine lets it be")
	}
}
