package raftio

import (
	"fmt"
	"io"
	"strings"
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

// A snapshot arrives that the log contradicts. The group is about to be opened anew, with
// the log emptied: what the log took until then, and was acknowledged, would be lost.
func TestALogThatIsAboutToBeEmptiedAcknowledgesNothing(t *testing.T) {
	const covered = 12
	for _, kind := range []string{StoreWAL, StoreBolt} {
		for name, last := range map[string]uint64{"ends with the snapshot": covered, "goes beyond it": covered + 2} {
			t.Run(kind+" "+name, func(t *testing.T) {
				stores, _ := opened(t, t.TempDir(), kind)
				told := make(chan uint64, 1)
				stores.Snapshots.Contradicted = func(index uint64) { told <- index }
				must(t, stores.Log.StoreLogs(append([]*raft.Log{configurationEntry(1, 1, "a", "b", "c")}, commands(2, last, 1)...)))
				must(t, stores.Stable.SetUint64([]byte("CurrentTerm"), 2))
				follower, addr := networkedWith(t, "b", TransportConfig{Acks: NewAcks(), Hangs: neverHangs, Covered: stores.Covered})
				leader, _ := networked(t, "a", NewAcks())
				cfg := raft.DefaultConfig()
				cfg.LocalID, cfg.Logger = "b", silent()
				cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.TrailingLogs = time.Hour, time.Hour, 0
				node, err := raft.NewRaft(cfg, restoredLog{make(appliedLog, 2*covered)}, stores.Log, stores.Stable, stores.Snapshots, follower)
				must(t, err)
				defer func() { must(t, node.Shutdown().Error()) }()

				const state = "the state"
				install := &raft.InstallSnapshotRequest{
					RPCHeader: heartbeat(3).RPCHeader, SnapshotVersion: 1, Term: 3, LastLogIndex: covered, LastLogTerm: 3,
					Configuration: configurationEntry(1, 1, "a", "b", "c").Data, ConfigurationIndex: 1, Size: int64(len(state)),
				}
				var installed raft.InstallSnapshotResponse
				must(t, leader.InstallSnapshot("b", raft.ServerAddress(addr), install, &installed, strings.NewReader(state)))
				if index := <-told; !installed.Success || index != covered {
					t.Fatalf("installed: %v, contradicted: %d", installed.Success, index)
				}
				req := heartbeat(3)
				req.PrevLogEntry, req.PrevLogTerm, req.Entries = covered, 3, commands(covered+1, covered+4, 3)
				var resp raft.AppendEntriesResponse
				must(t, leader.AppendEntries("b", raft.ServerAddress(addr), req, &resp))
				if resp.Success {
					t.Error("entries were acknowledged")
				}
			})
		}
	}
}
