package differential

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// importOps is how many commands run during the copy; about one in ten changes nothing.
const importOps = 4000

// importPatience is how long the copy may take on the slowest machine.
const importPatience = 4 * time.Minute

// notCopied are commands that wait, or concern the connection or the server.
var notCopied = map[string]bool{
	"SUBSCRIBE": true, "PSUBSCRIBE": true, "SSUBSCRIBE": true, "MONITOR": true, "HELLO": true, "RESET": true, "QUIT": true, "CLIENT": true, "CONFIG": true, "DEBUG": true,
	"BLPOP": true, "BRPOP": true, "BLMOVE": true, "BRPOPLPUSH": true, "BLMPOP": true, "BZPOPMIN": true, "BZPOPMAX": true, "BZMPOP": true, "WAIT": true,
}

func isBlock(arg string) bool { return strings.EqualFold(arg, "BLOCK") }

// The stream that a redis-server sends its replicas, with every command, makes the same keys here:
// clusterctl import follows it.
func TestImportFollowsEveryCommand(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	seed, _ := seedAndOps(t)
	redis, node := proc.RedisServer(t, "--repl-backlog-size", "64mb"), proc.NewNode(t, proc.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), importPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, proc.Clusterctl(t), "-a", node.Addr(), "import", "--from", "redis://"+redis.Addr(), "--pause", "2m", "--spool", t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder // the differences
	cmd.Stdout = &found
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "following") {
	}
	a, b := proc.Dial(t, redis.Addr()), proc.Dial(t, node.Addr())
	do := func(c *respconn.Conn, args ...string) respconn.Value {
		t.Helper()
		v, err := c.Do(args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return v
	}
	for i, o := range stream(seed, importOps) {
		if i >= importOps/2 && strings.HasPrefix(o.name(), "FLUSH") {
			// Little would be left to compare.
			continue
		}
		if !notCopied[o.name()] && !slices.ContainsFunc(o.args, isBlock) {
			do(a, o.args...)
		}
	}
	do(a, "DISCARD")
	_, sent := io.WriteString(in, "\n")
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if err := errors.Join(cmd.Wait(), sent); err != nil {
		t.Fatalf("%v: %s\n%s", err, last, found.String())
	}
	keys := 0
	for db := range 16 {
		do(a, "SELECT", strconv.Itoa(db))
		do(b, "SELECT", strconv.Itoa(db))
		all := do(a, "KEYS", "*").Elems
		if n := len(do(b, "KEYS", "*").Elems); n != len(all) {
			t.Errorf("database %d has %d keys, redis-server's %d", db, n, len(all))
		}
		for _, k := range all {
			keys++
			for _, args := range [][]string{{"TYPE", string(k.Bytes)}, {"DEBUG", "DIGEST-VALUE", string(k.Bytes)}, {"PEXPIRETIME", string(k.Bytes)}} {
				if got, want := do(b, args...).String(), do(a, args...).String(); got != want {
					t.Errorf("database %d: %q: %s, redis-server's is %s", db, args, got, want)
				}
			}
		}
	}
	if t.Logf("%d keys", keys); keys < 20 {
		t.Error("too few were copied to show anything")
	}
}
