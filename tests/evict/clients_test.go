package evict

import (
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestClientsTogetherHoldAPartOfMaxmemory: MONITOR clients that read nothing are disconnected when
// their buffers exceed a share of maxmemory. There is no such limit as long as maxmemory is 0.
func TestClientsTogetherHoldAPartOfMaxmemory(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const monitors = 3
	c := proc.NewCluster(t, 1, proc.Options{Args: []string{"--maxmemory-clients", "10%"}})
	addr := c.Nodes[0].Addr()
	for range monitors {
		if got := say(t, proc.Dial(t, addr), "MONITOR"); got != "OK" {
			t.Fatal(got)
		}
	}
	w := proc.Dial(t, addr)
	say(t, w, "CLIENT", "NO-EVICT", "ON")
	value := strings.Repeat("x", 256<<10)
	proc.Wait(t, patience, "more waits than there may later", func() bool {
		say(t, w, "SET", "a", value)
		return number(addr, "memory", "mem_clients_normal") > 8*mb
	})
	if n := number(addr, "stats", "evicted_clients"); n != 0 {
		t.Fatalf("%d clients are evicted without a limit", n)
	}
	say(t, w, "CONFIG", "SET", "maxmemory", "40mb")
	proc.Wait(t, patience, "the monitors are evicted", func() bool {
		say(t, w, "SET", "a", value)
		return number(addr, "stats", "evicted_clients") == monitors && number(addr, "memory", "mem_clients_normal") < 4*mb
	})
	say(t, w, "CONFIG", "RESETSTAT")
	if n := number(addr, "stats", "evicted_clients"); n != 0 {
		t.Errorf("%d after CONFIG RESETSTAT", n)
	}
}
