package raftio

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// restoredLog is an appliedLog that accepts any snapshot.
type restoredLog struct{ appliedLog }

func (restoredLog) Restore(r io.ReadCloser) error { return r.Close() }

// A follower's log begins right behind its snapshot, with entries that a former leader wrote and
// that were never committed. The next leader has other entries there, and a snapshot that is older
// than the follower's. Only the follower's snapshot shows that the two agree.
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
			"builds upon the snapshot":  {covered, 2, []*raft.Log{entry(11, 3), entry(12, 3)}, false, []string{"11 of 3", "12 of 3"}},
			"begins before it":          {8, 1, []*raft.Log{entry(9, 1), entry(10, 2), entry(11, 3)}, false, []string{"11 of 3"}},
			"ends with it":              {8, 1, []*raft.Log{entry(9, 1), entry(10, 2)}, false, nil},
			"brings nothing":            {covered, 2, nil, false, nil},
			"ends before it":            {7, 1, []*raft.Log{entry(8, 1), entry(9, 1)}, false, nil},
			"brings nothing before it":  {8, 1, nil, false, nil},
			"is of another history":     {covered, 1, []*raft.Log{entry(11, 3)}, true, nil},
			"holds another entry":       {9, 1, []*raft.Log{entry(10, 3), entry(11, 3)}, true, nil},
			"holds an older entry":      {9, 1, []*raft.Log{entry(10, 1)}, true, nil},
			"ends in a later history":   {8, 1, []*raft.Log{entry(9, 3)}, true, nil},
			"stands in a later history": {8, 3, nil, true, nil},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				stores, _ := opened(t, t.TempDir(), kind)
				entries := []*raft.Log{configurationEntry(1, 1, "a", "b", "c")}
				for i := uint64(2); i < covered; i++ {
					entries = append(entries, entry(i, 1))
				}
				must(t, stores.Log.StoreLogs(append(entries, entry(covered, 2), entry(11, 2), entry(12, 2), entry(13, 2))))
				snapshot(t, stores, covered, 2, 1, "a", "b", "c")
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
				agreed, applied := c.prev+uint64(len(c.entries)), uint64(covered+len(c.applied))
				if node.CommitIndex() != agreed || node.AppliedIndex() != applied {
					t.Errorf("committed up to %d, applied up to %d, not %d and %d", node.CommitIndex(), node.AppliedIndex(), agreed, applied)
				}
			})
		}
	}
}

// A snapshot arrives that the log contradicts. The group will be opened again with an empty log:
// entries that the log accepted until then, and that were acknowledged, would be lost.
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

				must(t, sendSnapshot(leader, addr, covered, 3))
				if index := <-told; index != covered {
					t.Fatalf("contradicted: %d", index)
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

// sendSnapshot sends a snapshot to b as the leader of term 3.
func sendSnapshot(leader *Transport, addr string, index, term uint64) error {
	const state = "the state"
	req := &raft.InstallSnapshotRequest{
		RPCHeader: heartbeat(3).RPCHeader, SnapshotVersion: 1, Term: 3, LastLogIndex: index, LastLogTerm: term,
		Configuration: configurationEntry(1, 1, "a", "b", "c").Data, ConfigurationIndex: 1, Size: int64(len(state)),
	}
	var resp raft.InstallSnapshotResponse
	err := leader.InstallSnapshot("b", raft.ServerAddress(addr), req, &resp, strings.NewReader(state))
	if err == nil && !resp.Success {
		err = errors.New("it was refused")
	}
	return err
}

// A follower that already has the entries of a snapshot is sent the entries behind it next. A
// follower that has a newer snapshot, and refuses this one, is not sent this one again and again
// without a pause.
func TestASnapshotOfWhatAFollowerHasNeedNotBeInstalled(t *testing.T) {
	stores, _ := opened(t, t.TempDir(), StoreBolt)
	must(t, stores.Log.StoreLogs(append([]*raft.Log{configurationEntry(1, 1, "a", "b", "c")}, commands(2, 20, 1)...)))
	snapshot(t, stores, 10, 1, 1, "a", "b", "c")
	follower, addr := networkedWith(t, "b", TransportConfig{Acks: NewAcks(), Hangs: neverHangs, Covered: stores.Covered})
	acks := NewAcks()
	leader, _ := networked(t, "a", acks)
	cfg := raft.DefaultConfig()
	cfg.LocalID, cfg.Logger = "b", silent()
	cfg.HeartbeatTimeout, cfg.ElectionTimeout = time.Hour, time.Hour
	node, err := raft.NewRaft(cfg, restoredLog{make(appliedLog, 20)}, stores.Log, stores.Stable, stores.Snapshots, follower)
	must(t, err)
	defer func() { must(t, node.Shutdown().Error()) }()
	for range 2 {
		must(t, sendSnapshot(leader, addr, 15, 1))
	}
	must(t, sendSnapshot(leader, addr, 8, 1))
	if err := sendSnapshot(leader, addr, 8, 1); err == nil || !strings.Contains(err.Error(), errOlder.Error()) {
		t.Errorf("an older one for the second time: %v", err)
	}
	must(t, sendSnapshot(leader, addr, 9, 1))
	if got := acks.Match("b", 3); got != 15 {
		t.Errorf("it is known to have %d entries", got)
	}
	bounds(t, stores.Log, 1, 20)
	// A node in a later term no longer follows this leader.
	req := heartbeat(4)
	var resp raft.AppendEntriesResponse
	must(t, leader.AppendEntries("b", raft.ServerAddress(addr), req, &resp))
	if err := sendSnapshot(leader, addr, 15, 1); err == nil {
		t.Error("a node of a later term has what a leader of an older one sends")
	}
}
