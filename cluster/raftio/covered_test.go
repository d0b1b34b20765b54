package raftio

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// restoredLog is an appliedLog that takes any snapshot.
type restoredLog struct{ appliedLog }

func (restoredLog) Restore(r io.ReadCloser) error { return r.Close() }

// A follower's log begins right behind its snapshot, with what a former leader wrote and
// nobody committed. The next leader has other entries there, and a snapshot that is older
// than the follower's: nothing but the follower's snapshot tells that they agree.
func TestALogThatBeginsBehindItsSnapshotWithStaleEntriesFollows(t *testing.T) {
	const covered = 10
	entry := func(index, term uint64) *raft.Log {
		return &raft.Log{Index: index, Term: term, Data: fmt.Appendf(nil, "%d of %d", index, term)}
	}
	for _, kind := range []string{StoreWAL, StoreBolt} {
		for name, c := range map[string]struct {
			prev, prevTerm uint64
			entries        []*raft.Log
			refused        bool
			applied        []string
		}{
			"builds upon the snapshot": {covered, 1, []*raft.Log{entry(11, 3), entry(12, 3)}, false, []string{"11 of 3", "12 of 3"}},
			"begins before it":         {8, 1, []*raft.Log{entry(9, 1), entry(10, 1), entry(11, 3)}, false, []string{"11 of 3"}},
			"ends with it":             {8, 1, []*raft.Log{entry(9, 1), entry(10, 1)}, false, nil},
			"brings nothing":           {covered, 1, nil, false, nil},
			"does not reach it":        {8, 1, []*raft.Log{entry(9, 1)}, true, nil},
			"is of another history":    {covered, 2, []*raft.Log{entry(11, 3)}, true, nil},
			"holds another entry":      {9, 1, []*raft.Log{entry(10, 2), entry(11, 3)}, true, nil},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				stores, _ := opened(t, t.TempDir(), kind)
				entries := []*raft.Log{configurationEntry(1, 1, "a", "b", "c")}
				for i := uint64(2); i <= covered; i++ {
					entries = append(entries, entry(i, 1))
				}
				must(t, stores.Log.StoreLogs(append(entries, entry(11, 2), entry(12, 2), entry(13, 2))))
				snapshot(t, stores, covered, 1, 1, "a", "b", "c")
				must(t, stores.Log.DeleteRange(1, covered))
				must(t, stores.Stable.SetUint64([]byte("CurrentTerm"), 2))

				follower, addr := networkedWith(t, "b", TransportConfig{Acks: NewAcks(), Hangs: neverHangs, Covered: stores.Covered})
				leader, _ := networked(t, "a", NewAcks())
				cfg := raft.DefaultConfig()
				cfg.LocalID, cfg.Logger = "b", silent()
				cfg.HeartbeatTimeout, cfg.ElectionTimeout = time.Hour, time.Hour
				machine := restoredLog{make(appliedLog, 2*covered)}
				node, err := raft.NewRaft(cfg, machine, stores.Log, stores.Stable, stores.Snapshots, follower)
				must(t, err)
				defer func() { must(t, node.Shutdown().Error()) }()

				req := heartbeat(3)
				req.PrevLogEntry, req.PrevLogTerm, req.Entries, req.LeaderCommitIndex = c.prev, c.prevTerm, c.entries, 100
				var resp raft.AppendEntriesResponse
				must(t, leader.AppendEntries("b", raft.ServerAddress(addr), req, &resp))
				if resp.Success == c.refused {
					t.Fatalf("success: %v", resp.Success)
				}
				for i, got := range machine.await(t, len(c.applied)) {
					if got != c.applied[i] {
						t.Errorf("%q was applied in place of %q", got, c.applied[i])
					}
				}
				if c.refused {
					return
				}
				if want := uint64(covered + len(c.applied)); node.CommitIndex() != want || node.AppliedIndex() != want {
					t.Errorf("committed up to %d, applied up to %d, and %d agree", node.CommitIndex(), node.AppliedIndex(), want)
				}
			})
		}
	}
}
