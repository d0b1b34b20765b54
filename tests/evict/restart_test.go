package evict

import (
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestARestartEvictsNothing: a CONFIG SET of maxmemory is stored in the cluster. A node that
// restarts uses that value from its first entry on as leader, although its own flags have a smaller
// one.
func TestARestartEvictsNothing(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{Shards: 8, Args: []string{"--maxmemory", "1mb", "--maxmemory-policy", "allkeys-lru"}})
	conn := proc.Dial(t, n.Addr())
	if got := say(t, conn, "CONFIG", "SET", "maxmemory", "0"); got != "OK" {
		t.Fatal(got)
	}
	const keys = 40_000
	value := strings.Repeat("v", 500)
	var commands [][]string
	for i := range keys {
		commands = append(commands, []string{"SET", "k" + strconv.Itoa(i), value})
	}
	run(t, conn, commands...)
	if got := say(t, conn, "SAVE"); got != "OK" {
		t.Fatal(got)
	}
	for range 2 {
		n.Stop()
		n.Start()
		n.WaitReady()
		conn := proc.Dial(t, n.Addr())
		if got, evicted := say(t, conn, "DBSIZE"), number(n.Addr(), "stats", "evicted_keys"); !strings.HasSuffix(got, strconv.Itoa(keys)) || evicted != 0 {
			t.Fatalf("%s keys are left of %d; %d were evicted", got, keys, evicted)
		}
	}
}
