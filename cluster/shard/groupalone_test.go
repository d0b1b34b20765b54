package shard

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// longMs is a heartbeat timeout that no test waits for.
const longMs = 10 * 60 * 1000

// waitLong is the configuration of nodes that would wait a long time for a leader.
func waitLong(c *GroupConfig) { c.HeartbeatMs, c.ElectionMs = longMs, longMs }

// A node that votes alone leads at once: at the beginning, and after each restart, with or without
// its log.
func TestWhoVotesAloneDoesNotWait(t *testing.T) {
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, 1, store, func(c *GroupConfig) { waitLong(c); c.TrailingEntries = 1 })
			n := w.nodes[0]
			for range 3 {
				w.write(5)
				w.noted(n)
				w.must(n.group.TakeSnapshot())
				want := n.sm.state()
				n.stop()
				n.start()
				w.leader()
				w.until("the state", func() bool { return n.sm.state() == want })
				if rc := n.group.raft.Load().ReloadableConfig(); rc.HeartbeatTimeout != ms(longMs) || rc.ElectionTimeout != ms(longMs) {
					t.Errorf("the timeouts are %v and %v", rc.HeartbeatTimeout, rc.ElectionTimeout)
				}
			}
		})
	}
}

// noted waits until a node has recorded that it leads alone.
func (w *world) noted(n *testNode) {
	w.t.Helper()
	w.until("the note", func() bool {
		led, err := n.group.parts.stores.Stable.GetUint64(keyAlone)
		return err == nil && led == n.group.latest.Load().Index
	})
}

// A node that another leader has made the only voter waits: that leader's lease may rest on this
// node's promise. Once the node has led, it need not wait.
func TestWhoIsLeftAloneWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, raftio.StoreBolt, waitLong)
	w.write(3)
	gone, left := w.nodes[0], w.add("n2", raftio.StoreBolt, waitLong)
	left.start()
	w.must(gone.group.Changes().AddVoter(w.ctx(), left.id, raft.ServerAddress(left.door.addr), 0))
	w.agree()
	w.must(gone.group.Changes().Remove(w.ctx(), gone.id, 0))
	w.until("the configuration", func() bool { _, alone := left.group.latest.alone(); return alone })
	left.set = func(c *GroupConfig) { c.HeartbeatMs, c.ElectionMs = 1000, 1000 }
	left.stop()
	begun := time.Now()
	left.start()
	w.leader(left)
	if waited := time.Since(begun); waited < time.Second {
		t.Errorf("it leads after %v, while another node's lease may rest on its promise", waited)
	}
	w.noted(left)
	left.set = waitLong
	left.stop()
	left.start()
	w.leader(left)
}

// A record of another configuration does not count.
func TestANoteOfAnotherConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, raftio.StoreBolt, nil)
	n := w.leader()
	w.noted(n)
	w.must(n.group.parts.stores.Stable.SetUint64(keyAlone, n.group.latest.Load().Index+1))
	n.set = func(c *GroupConfig) { c.HeartbeatMs, c.ElectionMs = 1000, 1000 }
	n.stop()
	begun := time.Now()
	n.start()
	w.leader()
	if waited := time.Since(begun); waited < time.Second {
		t.Errorf("it leads after %v, sooner than its heartbeat timeout", waited)
	}
}
