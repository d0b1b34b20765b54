package shard

import (
	"fmt"
	"testing"
	"time"

	"lockstep/cluster/raftio"
	"lockstep/tests/kit/standstill"
)

// A replica was dropped and made again in the same process, and leads before it has run the entries
// that its predecessor had put into the log. A new proposal must not be answered by an old one's
// reply.
func TestAReplicaMadeAnewIsNotAnsweredByItsFormerEntries(t *testing.T) {
	w := &shardWorld{world: &world{t: t}}
	boot := uint64(1)
	w.found(1, raftio.StoreBolt, nil, func(group GroupConfig) Config {
		c := w.shardOf(group)
		c.Boot = boot
		return c
	})
	n := w.nodes[0]
	again := func() {
		n.stop()
		n.start()
	}
	w.set("held", "1")
	boot = 2
	again()
	for i := range 10 {
		w.set(fmt.Sprint("former", i), "1")
	}
	still := standstill.New("held")
	w.observer = still
	again()
	w.leader()
	<-still.Entered
	// It has already learnt the time from the leader; otherwise it would accept no proposal yet.
	n.shard.clock.mu.Lock()
	n.shard.clock.log.Hear(raftio.Now().Microseconds(), time.Now().UnixMicro(), 0)
	n.shard.clock.mu.Unlock()
	// So many bundles that they leave as soon as the entry before them seems to have landed.
	var answers []<-chan Result
	for i := range 16 {
		answers = append(answers, w.propose(n, "incr", fmt.Sprint("fresh", i)))
	}
	close(still.Open)
	for i, answer := range answers {
		select {
		case r := <-answer:
			if r.Err != nil || string(r.Replies[0].Bytes) != ":1\r\n" {
				t.Errorf("call %d: %v, %v", i, r.Replies, r.Err)
			}
		case <-w.ctx().Done():
			t.Fatalf("call %d: no answer", i)
		}
	}
}
