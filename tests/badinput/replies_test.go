package badinput

import (
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// replyErr replaces a reply that is longer than the bound.
const replyErr = "-ERR the reply is longer than 268435456 bytes"

// loadBig makes one key of each kind, with an element of 1 MB.
func loadBig(t *testing.T, n *proc.Node) {
	t.Helper()
	big := strings.Repeat("y", mb)
	c := proc.Dial(t, n.Addr())
	replies, err := c.Pipeline(
		[]string{"SET", "string", big}, []string{"HSET", "hash", "f", big}, []string{"RPUSH", "list", big},
		[]string{"SADD", "set", big}, []string{"ZADD", "zset", "1", big}, []string{"XADD", "stream", "1-1", "f", big},
		[]string{"XGROUP", "CREATE", "stream", "g", "0"}, []string{"XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "stream", ">"},
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range replies {
		if v.IsError() {
			t.Fatalf("command %d: %v", i, v)
		}
	}
}

// again returns a command with the same argument n times.
func again(n int, arg string, command ...string) []string {
	for range n {
		command = append(command, arg)
	}
	return command
}

// TestRepliesAreBounded asks with a few bytes for replies of gigabytes and more. Each is refused
// with an error, the node's memory stays within a few copies of the bound, and other clients are
// served.
func TestRepliesAreBounded(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, patiently)
	pid := n.Pid()
	loadBig(t, n)
	for _, args := range [][]string{
		{"HRANDFIELD", "hash", "-1048576", "WITHVALUES"},
		{"ZRANDMEMBER", "zset", "-1000000"},
		again(100_000, "string", "MGET"),
		again(100_000, "f", "HMGET", "hash"),
		again(10_000, "1-1", "XCLAIM", "stream", "g", "c", "0"),
	} {
		t.Run(args[0], func(t *testing.T) {
			c := proc.Dial(t, n.Addr())
			c.Patience = patience
			grown := watchRSS(n, func() {
				v, err := c.Do(args...)
				if err != nil {
					t.Fatal(err)
				}
				if got := v.String(); !strings.HasPrefix(got, replyErr) {
					t.Errorf("it answers %.200s, want %s", got, replyErr)
				}
			})
			t.Logf("it took %d MB", grown/mb)
			if grown > 2048*mb {
				t.Errorf("it took %d MB", grown/mb)
			}
			mustLive(t, n, pid)
		})
	}
}

// TestTransactionsRepliesAreBoundedTogether: replies of a transaction, which every replica would
// build, must not end the replicas. The writes of the transaction still happen.
func TestTransactionsRepliesAreBoundedTogether(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, patiently)
	pid := n.Pid()
	loadBig(t, n)
	c := proc.Dial(t, n.Addr())
	c.Patience = patience
	const reads = 20_000
	var v respconn.Value
	grown := watchRSS(n, func() {
		commands := [][]string{{"MULTI"}, {"SET", "written", "before"}}
		for range reads {
			commands = append(commands, []string{"GET", "string"})
		}
		commands = append(commands, []string{"APPEND", "written", " and after"}, []string{"EXEC"})
		replies, err := c.Pipeline(commands...)
		if err != nil {
			t.Fatal(err)
		}
		v = replies[len(replies)-1]
	})
	t.Logf("it took %d MB", grown/mb)
	if grown > 3072*mb {
		t.Errorf("it took %d MB", grown/mb)
	}
	if len(v.Elems) != reads+2 {
		t.Fatalf("EXEC answers %.200s", v)
	}
	if got := v.Elems[reads].String(); got != replyErr {
		t.Errorf("the last read answers %.200s, want %s", got, replyErr)
	}
	if got, err := proc.Ask(n.Addr(), "GET", "written"); err != nil || got != "before and after" {
		t.Errorf("it wrote %q, %v", got, err)
	}
	mustLive(t, n, pid)
}

// TestRepliesOfTheNodeAreBoundedTogether: the replies of a transaction's commands that need no data
// are bounded like the others.
func TestRepliesOfTheNodeAreBoundedTogether(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, patiently)
	pid := n.Pid()
	c := proc.Dial(t, n.Addr())
	c.Patience = patience
	one, err := c.Do("COMMAND", "DOCS")
	if err != nil {
		t.Fatal(err)
	}
	const bound = 256 * mb
	times := 2*bound/len(one.String()) + 1
	commands := [][]string{{"MULTI"}}
	for range times {
		commands = append(commands, []string{"COMMAND", "DOCS"})
	}
	var v respconn.Value
	grown := watchRSS(n, func() {
		replies, err := c.Pipeline(append(commands, []string{"EXEC"})...)
		if err != nil {
			t.Fatal(err)
		}
		v = replies[len(replies)-1]
	})
	t.Logf("%d times, it took %d MB", times, grown/mb)
	if grown > 3072*mb {
		t.Errorf("it took %d MB", grown/mb)
	}
	if len(v.Elems) != times || v.Elems[0].IsError() || !strings.HasPrefix(v.Elems[times-1].String(), "-ERR the replies of the transaction are longer") {
		t.Errorf("EXEC answers %d replies, %.200s to %.200s", len(v.Elems), v.Elems[0], v.Elems[len(v.Elems)-1])
	}
	mustLive(t, n, pid)
}
