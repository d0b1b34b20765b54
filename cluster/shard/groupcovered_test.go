package shard

import (
	"math/rand/v2"
	"testing"
)

// The answers of one follower are lost while the group continues, so the leader believes that the
// follower has less than it has. Then the leader writes a snapshot and keeps no entries behind it.
// The entries that the leader would send next are in no log any more, and the follower refuses a
// snapshot of what it has. No other node can complete a majority.
func TestAFollowerWhoseAnswersWereLostIsNotSentItsOwnPastForEver(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) { lostAnswers(t, store) })
	}
}

func lostAnswers(t *testing.T, store string) {
	w := newWorld(t, 3, store, func(c *GroupConfig) {
		steady(c)
		c.TrailingEntries = 0
	})
	w.write(3)
	w.agree()
	var leader, follower, third *testNode
	hold := func(yes bool) {
		follower.door.set(func() { follower.door.held[string(leader.id)] = yes })
	}
	w.until("a leader that knows less than the follower has", func() bool {
		leader = w.leader()
		follower, third = w.others(leader)[0], w.others(leader)[1]
		hold(true)
		propose := func(text string) bool { return leader.group.Append(w.ctx(), []byte(text)) == nil }
		ahead := propose("before") && leader.group.TakeSnapshot() == nil
		at := leader.group.Stats().LastIndex
		ahead = ahead && propose("behind") && follower.group.Stats().LastIndex > at && leader.group.Progress(follower.id) < at
		if ahead {
			return true
		}
		hold(false)
		w.agree()
		return false
	})
	follower.door.leadTo(follower.addr)
	hold(false)
	third.stop()
	w.write(3, leader, follower)
	w.agree(leader, follower)
}

// No entries stay behind a snapshot, and leaders are cut off with entries that no other node gets.
// Whichever node leads next, and whichever wrote which snapshot, all replicas agree in the end.
func TestReplicasAgreeWhoeverWroteWhichSnapshot(t *testing.T) {
	t.Parallel()
	for i, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, 3, store, func(c *GroupConfig) { c.TrailingEntries = 0 })
			chance := rand.New(rand.NewPCG(7, uint64(i)))
			written := 0
			write := func(among ...*testNode) {
				n := 1 + chance.IntN(3)
				w.write(n, among...)
				written += n
			}
			snapshot := func(n *testNode) {
				// A snapshot is given up if a leader's overtakes it.
				if err := n.group.TakeSnapshot(); err != nil {
					t.Log(n.id, err)
				}
			}
			for range 2 {
				write()
				w.agree()
				lost := w.leader()
				rest := w.others(lost)
				snapshot(lost)
				cutOff([]*testNode{lost}, rest, true)
				for range 1 + chance.IntN(4) {
					lost.group.Propose([]byte("nobody gets this"), func(error) {})
				}
				write(rest...)
				for _, n := range rest {
					if chance.IntN(4) == 0 {
						snapshot(n)
					}
				}
				if chance.IntN(2) == 0 {
					lost.stop()
					lost.start()
				}
				away := rest[chance.IntN(2)]
				away.stop()
				cutOff([]*testNode{lost}, rest, false)
				write(w.others(away)...)
				away.start()
			}
			w.agree()
			if got := w.nodes[0].sm.entries(); got < uint64(written) {
				t.Errorf("%d entries of %d are left", got, written)
			}
		})
	}
}
