package server_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/respconn"
)

// The versions of many keys are more than a shard answers at once.
func TestManyKeysAreWatched(t *testing.T) {
	n := startNode(t, 1)
	n.exec.repliesMax.Store(1000)
	c, other := dial(t, n.addr), dial(t, n.addr)
	args := []string{"WATCH"}
	for i := range 1000 {
		args = append(args, fmt.Sprint("key", i))
	}
	for _, last := range []string{"key999", "nothing"} {
		if got := do(t, c, args...); got != "+OK" {
			t.Fatal(got)
		}
		do(t, other, "SET", last, "x")
		do(t, c, "MULTI")
		do(t, c, "SET", "key0", "y")
		want := map[string]string{"key999": "(nil array)", "nothing": "*1\n  +OK"}[last]
		if got := do(t, c, "EXEC"); got != want {
			t.Errorf("EXEC behind a change of %s: %s", last, got)
		}
	}
}

// A blocked client is seen to go behind all that it has sent.
func TestWhoGoesAwayBehindMuchIsForgotten(t *testing.T) {
	n := startNode(t, 1)
	for _, command := range [][]string{{"BLPOP", "list", "0"}, {"SET", "a", "1"}} {
		admin, c := dial(t, n.addr), dial(t, n.addr)
		do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
		if command[0] == "BLPOP" {
			do(t, admin, "CLIENT", "UNPAUSE")
		}
		raw := respconn.Command(command...)
		for range 16 << 10 {
			raw = respconn.AppendCommand(raw, "PING")
		}
		if err := c.Write(raw); err != nil {
			t.Fatal(err)
		}
		until(t, "the client waits", func() bool { return n.stats.Blocked.Load() == 1 })
		c.Close()
		until(t, command[0]+": nobody waits", func() bool { return n.stats.Blocked.Load() == 0 })
		do(t, admin, "CLIENT", "UNPAUSE")
		if got := do(t, admin, "GET", "a"); got != "(nil)" {
			t.Errorf("a is %s", got)
		}
	}
}

// Who sends more behind a blocked command than may be buffered is cut off.
func TestWhatIsSentBehindAWaitIsBounded(t *testing.T) {
	n := startNode(t, 1)
	n.set(func(s *settings) { s.QueryBytesMax = 1 << 20 })
	c := dial(t, n.addr)
	if err := c.Write(respconn.Command("BLPOP", "list", "0")); err != nil {
		t.Fatal(err)
	}
	until(t, "the client waits", func() bool { return n.stats.Blocked.Load() == 1 })
	raw := respconn.Command("ECHO", strings.Repeat("x", 100_000))
	if err := c.Write(raw); err != nil {
		t.Fatal(err)
	}
	until(t, "it counts", func() bool { return n.registry.Buffers().Bytes > 100_000 })
	for range 20 {
		if c.Write(raw) != nil {
			break
		}
	}
	until(t, "it is cut off, and forgotten", func() bool { return n.stats.QueryClosed.Load() == 1 && n.registry.Len() == 0 })
	if got := n.stats.Blocked.Load(); got != 0 {
		t.Errorf("%d wait", got)
	}
}
