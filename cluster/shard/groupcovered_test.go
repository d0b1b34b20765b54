package shard

import "testing"

// The answers of a follower do not come through while the others go on: the leader believes
// it to have less than it has. Then the leader writes a snapshot, and nothing stays behind
// it. What the leader would send next is in no log any more, and the follower wants no
// snapshot of what it has. Nobody else is there to make a majority.
func TestAFollowerWhoseAnswersWereLostIsNotSentItsOwnPastForEver(t *testing.T) {
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
	leader := w.leader()
	rest := w.others(leader)
	follower, third := rest[0], rest[1]
	hold := func(yes bool) {
		follower.door.set(func() { follower.door.held[string(leader.id)] = yes })
	}
	w.until("a leader that knows less than the follower has", func() bool {
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
