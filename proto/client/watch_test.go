package client_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// The versions of many keys are more than a shard returns at once.
func TestManyKeysAreWatched(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Exec.RepliesMax.Store(1000)
	c, other := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	args := []string{"WATCH"}
	for i := range 1000 {
		args = append(args, fmt.Sprint("key", i))
	}
	for _, last := range []string{"key999", "nothing"} {
		if got := prototest.Do(t, c, args...); got != "+OK" {
			t.Fatal(got)
		}
		prototest.Do(t, other, "SET", last, "x")
		prototest.Do(t, c, "MULTI")
		prototest.Do(t, c, "SET", "key0", "y")
		want := map[string]string{"key999": "(nil array)", "nothing": "*1\n  +OK"}[last]
		if got := prototest.Do(t, c, "EXEC"); got != want {
			t.Errorf("EXEC behind a change of %s: %s", last, got)
		}
	}
}

// The server notices that a blocked client disconnects, even after it has sent many more commands.
func TestWhoGoesAwayBehindMuchIsForgotten(t *testing.T) {
	n := prototest.StartNode(t, 1)
	for _, command := range [][]string{{"BLPOP", "list", "0"}, {"SET", "a", "1"}} {
		admin, c := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
		prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
		if command[0] == "BLPOP" {
			prototest.Do(t, admin, "CLIENT", "UNPAUSE")
		}
		raw := respconn.Command(command...)
		for range 16 << 10 {
			raw = respconn.AppendCommand(raw, "PING")
		}
		if err := c.Write(raw); err != nil {
			t.Fatal(err)
		}
		prototest.Until(t, "the client waits", func() bool { return n.Stats.Blocked.Load() == 1 })
		c.Close()
		prototest.Until(t, command[0]+": nobody waits", func() bool { return n.Stats.Blocked.Load() == 0 })
		prototest.Do(t, admin, "CLIENT", "UNPAUSE")
		if got := prototest.Do(t, admin, "GET", "a"); got != "(nil)" {
			t.Errorf("a is %s", got)
		}
	}
}

// A client that sends more than may be buffered behind a blocked command is cut off.
func TestWhatIsSentBehindAWaitIsBounded(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.QueryBytesMax = 1 << 20 })
	c := prototest.Dial(t, n.Addr)
	if err := c.Write(respconn.Command("BLPOP", "list", "0")); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "the client waits", func() bool { return n.Stats.Blocked.Load() == 1 })
	raw := respconn.Command("ECHO", strings.Repeat("x", 100_000))
	if err := c.Write(raw); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "it counts", func() bool { return n.Registry.Buffers().Bytes > 100_000 })
	for range 20 {
		if c.Write(raw) != nil {
			break
		}
	}
	prototest.Until(t, "it is cut off, and forgotten", func() bool { return n.Stats.QueryClosed.Load() == 1 && n.Registry.Len() == 0 })
	if got := n.Stats.Blocked.Load(); got != 0 {
		t.Errorf("%d wait", got)
	}
}
