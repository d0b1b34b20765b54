package badinput

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// TestFewBytesDoNotBuyHours: every replica runs a command in the log, and one that takes hours
// would stop them all. Each of these once took that long.
func TestFewBytesDoNotBuyHours(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, patiently)
	pid := n.Pid()
	members := []string{"SADD", "set"}
	for i := range 50_000 {
		members = append(members, strings.Repeat("m", 1+i%7)+string(rune('a'+i%26))+time.Duration(i).String())
	}
	hll := append([]string{"PFADD", "hll"}, members[2:]...)
	for _, args := range [][]string{{"SET", "string", strings.Repeat("x", 16*mb)}, members, hll, {"SET", strings.Repeat("a", 2*mb), "v"}} {
		if _, err := proc.Ask(n.Addr(), args...); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(command ...string) [][]string {
		for i := range 50_000 {
			if command[0] == "ZADD" {
				command = append(command, strconv.Itoa(i))
			}
			command = append(command, "member"+strconv.Itoa(i))
		}
		return [][]string{command}
	}
	for _, args := range slices.Concat(fill("ZADD", "zset"), fill("RPUSH", "list")) {
		if _, err := proc.Ask(n.Addr(), args...); err != nil {
			t.Fatal(err)
		}
	}
	longPattern := "*" + strings.Repeat("a", mb/5) + "b"
	// inExec returns a transaction that has one command many times.
	inExec := func(times int, args ...string) [][]string {
		all := [][]string{{"MULTI"}}
		for range times {
			all = append(all, args)
		}
		return append(all, []string{"EXEC"})
	}
	farther := [][]string{{"MULTI"}}
	for i := range 1000 { // 60 GB
		farther = append(farther, []string{"SETRANGE", "far" + strconv.Itoa(i), "60000000", "x"})
	}
	farther = append(farther, []string{"EXEC"})
	const served, refused = "", "txn-max-work-ms"
	for _, test := range []struct {
		name, answer string
		commands     [][]string
	}{
		{"BITOP of one key, many times", served, [][]string{again(100_000, "string", "BITOP", "AND", "to")}},
		{"SINTERSTORE of one key, many times", served, [][]string{again(100_000, "set", "SINTERSTORE", "to")}},
		{"SUNIONSTORE of one key, many times", served, [][]string{again(100_000, "set", "SUNIONSTORE", "to")}},
		{"SDIFFSTORE of one key, many times", served, [][]string{again(100_000, "other", "SDIFFSTORE", "to", "set")}},
		{"PFMERGE of one key, many times", served, [][]string{again(200_000, "hll", "PFMERGE", "merged")}},
		{"KEYS with a long pattern in a transaction", served, [][]string{{"MULTI"}, {"SET", "w", "v"}, {"KEYS", longPattern}, {"EXEC"}}},
		{"ZUNIONSTORE of one key, many times", refused, [][]string{again(100_000, "zset", "ZUNIONSTORE", "to", "100000")}},
		{"ZINTERSTORE of one key, many times", refused, [][]string{again(100_000, "zset", "ZINTERSTORE", "to", "100000")}},
		{"ZINTERCARD of one key, many times", refused, [][]string{again(100_000, "zset", "ZINTERCARD", "100000")}},
		{"BITCOUNT in a transaction, many times", refused, inExec(20_000, "BITCOUNT", "string")},
		{"COPY in a transaction, many times", refused, inExec(20_000, "COPY", "string", "to", "REPLACE")},
		{"COPY of a large set in a transaction, many times", served, inExec(20_000, "COPY", "set", "to", "REPLACE")},
		{"SORT in a transaction, many times", refused, inExec(20_000, "SORT", "list", "ALPHA", "STORE", "to")},
		{"SORT that gets a long text for each element", refused, [][]string{
			{"SET", "{t}long", strings.Repeat("x", mb)}, again(10_000, "long", "RPUSH", "{t}same"), {"SORT", "{t}same", "BY", "nosort", "GET", "{t}*", "STORE", "{t}to"},
		}},
		{"LPOS in a transaction, many times", refused, inExec(20_000, "LPOS", "list", "nosuch")},
		{"SSCAN in a transaction, many times", refused, inExec(20_000, "SSCAN", "set", "0", "COUNT", "100000", "MATCH", "nosuch")},
		{"far SETRANGEs in a transaction", refused, farther},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := proc.Dial(t, n.Addr())
			c.Patience = 2 * patience
			var last respconn.Value
			grown := watchRSS(n, func() {
				replies, err := c.Pipeline(test.commands...)
				if err != nil {
					t.Fatalf("not answered within %v: %v", c.Patience, err)
				}
				last = replies[len(replies)-1]
				if len(test.commands) > 1 && len(last.Elems) > 0 {
					last = last.Elems[len(last.Elems)-1]
				}
			})
			t.Logf("it took %d MB", grown/mb)
			if test.answer == served && last.IsError() || test.answer != served && !strings.Contains(last.String(), test.answer) {
				t.Errorf("it answers %.200s", last)
			}
			mustLive(t, n, pid)
		})
	}
}
