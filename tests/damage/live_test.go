package damage

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// A leader whose log is damaged while it runs finds that out when it reads an old entry
// for a follower that was away: a flipped bit, or in bbolt, whose file is mapped, that the
// end of the file is gone. It ends and says why, and the others go on with all that was
// acknowledged.
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

// bury writes more than a node keeps in memory of its log.
func bury(t *testing.T, addr string) {
	t.Helper()
	conn := proc.Dial(t, addr)
	for i := range 40 {
		if got := proc.Do(t, conn, "SET", fmt.Sprint("bury:", i%4), strings.Repeat("b", 1<<20)); got != "+OK" {
			t.Fatal(got)
		}
	}
}
