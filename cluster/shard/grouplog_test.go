package shard

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// tamper opens a stopped node's files.
func (n *testNode) tamper(change func(*raftio.Stores)) {
	n.w.t.Helper()
	log := raftio.NewLogger(slog.New(slog.NewTextHandler(io.Discard, nil)), "tamper")
	s, err := raftio.OpenStores(&raftio.StoresConfig{
		Dir: n.dir, Kind: n.store, Log: log,
		Guards: raftio.Guards{StallLimit: time.Minute, Fatal: func(err error) { n.w.t.Error(err) }},
	})
	n.w.must(err)
	change(s)
	n.w.must(s.Close())
}

// A follower comes back with entries that a leader of another term wrote and that were never
// committed. The others have moved on so far that only a snapshot can bring it up to date.
// hashicorp/raft keeps such a log and refuses every append behind the snapshot
// (hashicorp/raft#697). If the log is shorter than the snapshot, it keeps the dead entries as if
// they were valid.
func TestLogOfADeadTermGivesWayToASnapshot(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		for _, c := range []struct {
			name string
			dead int
		}{{"longer than the snapshot", 200}, {"as long as nothing", 3}} {
			t.Run(store+", "+c.name, func(t *testing.T) { deadTerm(t, store, c.dead) })
		}
	}
}

func deadTerm(t *testing.T, store string, dead int) {
	w := newWorld(t, 3, store, func(c *GroupConfig) { c.TrailingEntries = 2 })
	w.write(10)
	w.agree()
	victim := w.others(w.leader())[0]
	victim.stop()
	// Elections on a busy machine do not reach this term meanwhile.
	const far = 1000
	term := w.leader(w.others(victim)...).group.Term() + far
	victim.tamper(func(s *raftio.Stores) {
		last, err := s.Log.LastIndex()
		w.must(err)
		var logs []*raft.Log
		for i := range uint64(dead) {
			logs = append(logs, &raft.Log{Index: last + 1 + i, Term: term + 1, Type: raft.LogCommand, Data: []byte("dead")})
		}
		w.must(s.Log.StoreLogs(logs))
		w.must(s.Stable.SetUint64([]byte("CurrentTerm"), term+1))
	})
	// One of the others has seen a term beyond the dead one, so that no node is elected in the dead
	// term.
	rest := w.others(victim)
	rest[0].stop()
	rest[0].tamper(func(s *raftio.Stores) { w.must(s.Stable.SetUint64([]byte("CurrentTerm"), term+2)) })
	rest[0].start()
	w.until("a later term", func() bool { return w.leader(rest...).group.Term() > term+1 })
	w.write(40, rest...)
	w.agree(rest...)
	for _, n := range rest {
		w.must(n.group.TakeSnapshot())
	}
	victim.start()
	w.agree()
	w.write(5)
	w.agree()
	if ended := victim.ended(); len(ended) > 0 {
		t.Errorf("it ended: %v", ended)
	}
	victim.stop()
	victim.tamper(func(s *raftio.Stores) {
		first, _ := s.Log.FirstIndex()
		last, _ := s.Log.LastIndex()
		var l raft.Log
		for i := first; i <= last && first > 0; i++ {
			if err := s.Log.GetLog(i, &l); err != nil || string(l.Data) == "dead" {
				t.Fatalf("entry %d of %d to %d: %q %v", i, first, last, l.Data, err)
			}
		}
	})
}

func TestChangedEntryEndsTheNodeAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, func(c *GroupConfig) {
		c.Verify = func(data []byte) error {
			if string(data) == "another format" {
				return fmt.Errorf("format 9")
			}
			return nil
		}
	})
	w.write(5)
	w.agree()
	var leader *testNode
	w.until("the end", func() bool {
		if leader == nil || !leader.group.IsLeader() && len(leader.ended()) == 0 {
			leader = w.leader()
			// The entry is refused where it is proposed.
			if err := leader.group.Append(w.ctx(), []byte("another format")); err == nil {
				t.Error("committed")
			}
		}
		return len(leader.ended()) == 1
	})
	leader.stop()
	rest := w.others(leader)
	w.write(5, rest...)
	w.agree(rest...)
}

func TestALeaderThatRestsProbesItsDisk(t *testing.T) {
	w := newWorld(t, 3, raftio.StoreBolt, func(c *GroupConfig) { c.ProbeEvery = time.Millisecond })
	probed := func(n *testNode) bool {
		at, err := n.group.parts.stores.Stable.GetUint64([]byte("lockstep.probe"))
		return err == nil && at > 0
	}
	leader := w.leader()
	w.until("a probe", func() bool { return probed(leader) })
	for _, n := range w.others(leader) {
		if probed(n) && n.group.counts.Won.Load() == 0 {
			t.Errorf("%s, which has led nothing, has probed its disk", n.id)
		}
	}
}
