package damage

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestALeaderWhoseLogIsDamagedEndsAndSaysWhy: the log of a leader is damaged while the leader runs.
// The leader finds the damage when it reads an old entry for a follower that was down: a flipped
// bit, or with bbolt, which maps its file, a missing end of the file. It ends and says why. The
// other nodes continue with everything that was acknowledged.
func TestALeaderWhoseLogIsDamagedEndsAndSaysWhy(t *testing.T) {
	proc.NeedProcesses(t)
	for _, c := range []struct{ store, way string }{
		{"boltdb", "a flipped bit"}, {"boltdb", "a cut at half"}, {"wal", "a flipped bit"}, {"wal", "a hole of 300 bytes"},
	} {
		t.Run(c.store+", "+c.way, func(t *testing.T) {
			t.Parallel()
			cluster := proc.NewCluster(t, 3, proc.Options{LogStore: c.store, Shards: 1, Args: []string{"--raft-heartbeat-ms", "3000", "--raft-election-ms", "3000"}})
			leader, away := cluster.WaitLeader(), cluster.Follower()
			away.Kill9()
			fill(t, leader.Addr())
			bury(t, leader.Addr())
			part{"shard-0", atNeedle}.apply(t, leader.DataDir(), c.way)
			away.Start()
			endsInWords(t, leader, c.way+" in the log of a leader")
			cluster.WaitLeader()
			if got := proc.MustAsk(t, away.Addr(), "GET", "needle"); got != needle {
				t.Errorf("the others have %q", got)
			}
		})
	}
}

// bury writes more entries than a node keeps in memory.
func bury(t *testing.T, addr string) {
	t.Helper()
	conn := proc.Dial(t, addr)
	for i := range 40 {
		if got := proc.Do(t, conn, "SET", fmt.Sprint("bury:", i%4), strings.Repeat("b", 1<<20)); got != "+OK" {
			t.Fatal(got)
		}
	}
}
