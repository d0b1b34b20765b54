package backup

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/cluster/placement"
	"lockstep/tests/kit/proc"
)

// pieceHeld is the longest time that the storage holds back a part. It is shorter than the time
// that a node waits for a client that does not read.
const pieceHeld = 15 * time.Second

// TestABackupOfAShardThatMovesIsWhole: while a backup reads a shard, its leader is drained. The
// replica that the backup was cut from moves to a new node, and the old node deletes it. The backup
// still contains the whole shard as it was when the backup began, without any later write.
func TestABackupOfAShardThatMovesIsWhole(t *testing.T) {
	s := newStorage(t)
	// The log is kept short, so that the new replica is created from a snapshot.
	o := proc.Options{Shards: 1, Args: append([]string{"--raft-snapshot-entries", "16", "--raft-trailing-entries", "4"}, proc.OneLeader...)}
	cluster := proc.NewCluster(t, 3, o)
	leader := cluster.WaitLeader()
	at := cluster.Nodes[(leader.Index+1)%len(cluster.Nodes)]
	c := proc.Dial(t, at.Addr())
	const keys = 48
	setAll := func(size int) {
		for i := range keys {
			if got := proc.Do(t, c, "SET", fmt.Sprint("k", i), strings.Repeat(string(rune('a'+i%26)), size)); got != "+OK" {
				t.Fatal(got)
			}
		}
	}
	setAll(1_000_000)
	want := digest(t, at.Addr())
	if n := folders(leader); n != 1 {
		t.Fatalf("the leader has %d shards on its disk", n)
	}

	moved := make(chan struct{})
	s.holdUntil(moved)
	const place = "s3://" + bucketName + "/one"
	cmd := s.ctl(t, at.Addr(), "backup", place, "--s3-part-mb", "5")
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := proc.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	proc.Wait(t, patience, "the first piece comes", func() bool { return s.parts.Load() > 0 })
	setAll(100)
	cluster.Join(o).WaitReady()
	proc.Wait(t, patience, leader.Name+" is drained", func() bool {
		_, err := proc.Ask(at.Addr(), "LOCKSTEP", "DRAIN", leader.Name)
		return err == nil
	})
	proc.Wait(t, patience, "its replica has moved", func() bool { return hasMoved(at, leader.Name, "n4") })
	proc.Wait(t, patience, "it is deleted where it was cut", func() bool { return folders(leader) == 0 })
	setAll(200)
	early := s.parts.Load()
	close(moved)
	err := cmd.Wait()
	if said := out.String(); err != nil || !strings.Contains(said, fmt.Sprintf("%d keys", keys)) {
		t.Fatalf("%v: %s", err, said)
	}
	t.Logf("%d of %d pieces came before the replica had moved", early, s.parts.Load())
	if early >= s.parts.Load() {
		t.Error("the backup had been read before the replica moved")
	}
	target := proc.NewNode(t, proc.Options{Shards: 2})
	if out, code := s.run(t, target.Addr(), "restore", place); code != 0 || !strings.Contains(out, fmt.Sprintf("compared: %d keys", keys)) {
		t.Errorf("exit %d: %s", code, out)
	}
	if got := digest(t, target.Addr()); got != want {
		t.Errorf("what was restored has the digest %s, what was there %s", got, want)
	}
}

// holdUntil lets the storage hold back each part of an upload until happened is closed, at most for
// pieceHeld.
func (s *storage) holdUntil(happened <-chan struct{}) {
	hold := func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
			select {
			case <-happened:
			case <-time.After(pieceHeld):
			case <-r.Context().Done():
			}
		}
		return false
	}
	s.before.Store(&hold)
}

// folders returns the number of shards that a node has on its disk.
func folders(n *proc.Node) int {
	all, _ := filepath.Glob(filepath.Join(n.DataDir(), "raft", "shard-*"))
	return len(all)
}

// hasMoved reports whether the replica of the only shard has moved from one node to another.
func hasMoved(asked *proc.Node, from, to string) bool {
	r := proc.Placement(asked)
	if r == nil || len(r.Shards) != 1 {
		return false
	}
	on := func(name string, voting bool) bool {
		return slices.ContainsFunc(r.Shards[0].Replicas, func(x placement.ReplicaReport) bool {
			return x.Node == name && (!voting || x.State == placement.StateVoter)
		})
	}
	return on(to, true) && !on(from, false)
}
