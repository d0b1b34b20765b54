package raftio

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// appliedLog is a raft.FSM that keeps the entries it gets.
type appliedLog chan string

func (a appliedLog) Apply(l *raft.Log) any {
	a <- string(l.Data)
	return nil
}

func (appliedLog) Snapshot() (raft.FSMSnapshot, error) { return nil, io.ErrUnexpectedEOF }
func (appliedLog) Restore(io.ReadCloser) error         { return io.ErrUnexpectedEOF }

// await waits for n entries.
func (a appliedLog) await(t *testing.T, n int) (entries []string) {
	t.Helper()
	late := time.After(20 * time.Second)
	for range n {
		select {
		case entry := <-a:
			entries = append(entries, entry)
		case <-late:
			t.Fatalf("only %q were applied", entries)
		}
	}
	return entries
}

// A follower's log ends with entries of a former leader. A new leader reports that a later entry is
// committed before it has sent that entry.
func TestWhatAFormerLeaderWroteIsNotCommittedByTheWordOfTheNext(t *testing.T) {
	const agreed, stale, newer = 10, 5, 2
	follower, addr := networked(t, "b", NewAcks())
	leader, leaderAddr := networked(t, "a", NewAcks())
	store := raft.NewInmemStore()
	servers := raft.Configuration{Servers: []raft.Server{
		{ID: "a", Address: raft.ServerAddress(leaderAddr)}, {ID: "b", Address: raft.ServerAddress(addr)}, {ID: "c", Address: "c:1"},
	}}
	entries := []*raft.Log{{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(servers)}}
	for i := uint64(2); i <= agreed; i++ {
		entries = append(entries, &raft.Log{Index: i, Term: 1, Data: fmt.Appendf(nil, "agreed %d", i)})
	}
	for i := uint64(agreed + 1); i <= agreed+stale; i++ {
		entries = append(entries, &raft.Log{Index: i, Term: 2, Data: fmt.Appendf(nil, "stale %d", i)})
	}
	must(t, store.StoreLogs(entries))
	must(t, store.SetUint64([]byte("CurrentTerm"), 2))
	cfg := raft.DefaultConfig()
	cfg.LocalID, cfg.Logger = "b", silent()
	cfg.HeartbeatTimeout, cfg.ElectionTimeout = time.Hour, time.Hour
	applied := make(appliedLog, agreed+stale)
	node, err := raft.NewRaft(cfg, applied, store, store, raft.NewInmemSnapshotStore(), follower)
	must(t, err)
	defer func() { must(t, node.Shutdown().Error()) }()

	send := func(prev, prevTerm, commit uint64, entries ...*raft.Log) {
		t.Helper()
		req := heartbeat(3)
		req.PrevLogEntry, req.PrevLogTerm, req.LeaderCommitIndex, req.Entries = prev, prevTerm, commit, entries
		var resp raft.AppendEntriesResponse
		must(t, leader.AppendEntries("b", raft.ServerAddress(addr), req, &resp))
		if !resp.Success {
			t.Fatalf("refused: %+v", resp)
		}
	}
	send(agreed, 1, agreed+newer)
	if index := node.CommitIndex(); index != agreed {
		t.Errorf("committed up to %d; %d entries agree", index, agreed)
	}
	send(agreed, 1, agreed+newer, &raft.Log{Index: agreed + 1, Term: 3, Data: []byte("new 11")})
	if index := node.CommitIndex(); index != agreed+1 {
		t.Errorf("committed up to %d; %d entries agree", index, agreed+1)
	}
	send(agreed+1, 3, agreed+newer, &raft.Log{Index: agreed + 2, Term: 3, Data: []byte("new 12")})
	all := applied.await(t, agreed+newer-1)
	if n := len(all); n != agreed+newer-1 || all[n-2] != "new 11" || all[n-1] != "new 12" {
		t.Errorf("applied %q", all)
	}
}
