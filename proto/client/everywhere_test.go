package client_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/cluster"
	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// TestWholeKeyspaceOverShards sends the same commands to a node with one shard and to one with
// five. The replies must be the same, except for the order of keys.
func TestWholeKeyspaceOverShards(t *testing.T) {
	one, five := prototest.Dial(t, prototest.StartNode(t, 1).Addr), prototest.Dial(t, prototest.StartNode(t, 5).Addr)
	script := []string{"DBSIZE", "RANDOMKEY", "KEYS *"}
	for i := range 60 {
		script = append(script, fmt.Sprintf("SET key:%d %d", i, i))
	}
	script = append(script, "DBSIZE", "KEYS key:1*", "SWAPDB 0 3", "DBSIZE", "KEYS *", "SELECT 3", "DBSIZE", "SWAPDB 3 99", "SWAPDB x 0", "FLUSHDB what",
		"SET in:three 1", "KEYS in:*", "SELECT 0", "SET in:zero 1", "FLUSHDB", "DBSIZE", "SELECT 3", "DBSIZE", "FLUSHALL SYNC", "DBSIZE", "RANDOMKEY", "SCAN x", "SCAN 0 COUNT 0")
	for _, line := range script {
		want, got := sortedReply(t, one, line), sortedReply(t, five, line)
		if want != got {
			t.Errorf("%s\n one shard:   %s\n five shards: %s", line, want, got)
		}
	}
}

// sortedReply runs a command and returns its reply with the elements of an array sorted.
func sortedReply(t *testing.T, c *respconn.Conn, line string) string {
	t.Helper()
	v, err := c.Do(strings.Fields(line)...)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(v.Elems, func(a, b respconn.Value) int { return strings.Compare(a.String(), b.String()) })
	return v.String()
}

// TestRandomKeyIsFairOverShards puts many keys into one shard and few into another. Each key must
// be drawn about as often.
func TestRandomKeyIsFairOverShards(t *testing.T) {
	c := prototest.Dial(t, prototest.StartNode(t, 2).Addr)
	// {foo} hashes to the even slot 12182, {bar} to the odd one 5061.
	prototest.Do(t, c, "SET", "{foo}", "1")
	for i := range 9 {
		prototest.Do(t, c, "SET", "{bar}"+strconv.Itoa(i), "1")
	}
	const draws = 2000
	n := 0
	for range draws {
		if prototest.Do(t, c, "RANDOMKEY") == `"{foo}"` {
			n++
		}
	}
	if n < draws/20 || n > draws/5 {
		t.Errorf("one key of ten came %d times of %d", n, draws)
	}
}

// TestScanOverShardsGivesEveryKeyThatStays scans five shards while keys are made and deleted on all
// of them.
func TestScanOverShardsGivesEveryKeyThatStays(t *testing.T) {
	n := prototest.StartNode(t, 5)
	c, other := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	const stay = 700
	for i := range stay {
		prototest.Do(t, c, "SET", fmt.Sprint("stay:", i), "1")
	}
	for _, count := range []string{"1", "10", "97", "5000"} {
		seen := map[string]int{}
		cursor, steps := "0", 0
		for {
			v, err := c.Do("SCAN", cursor, "COUNT", count)
			if err != nil || len(v.Elems) != 2 {
				t.Fatalf("%v, %v", v, err)
			}
			for _, key := range v.Elems[1].Elems {
				seen[string(key.Bytes)]++
			}
			if cursor = string(v.Elems[0].Bytes); cursor == "0" {
				break
			}
			if steps++; steps > 100_000 {
				t.Fatal("the scan does not end")
			}
			for i := range 3 {
				key := fmt.Sprint("other:", steps*7+i*3)
				if (steps+i)%2 == 0 {
					prototest.Do(t, other, "SET", key, "1")
				} else {
					prototest.Do(t, other, "DEL", key)
				}
			}
		}
		for i := range stay {
			if times := seen[fmt.Sprint("stay:", i)]; times != 1 {
				t.Fatalf("COUNT %s: stay:%d came %d times", count, i, times)
			}
		}
	}
}

// TestACommandOnAllShardsSaysHowFarItCame makes shards fail before and while a command runs on all
// of them.
func TestACommandOnAllShardsSaysHowFarItCame(t *testing.T) {
	n := prototest.StartNode(t, 3)
	c := prototest.Dial(t, n.Addr)
	fill := func() {
		n.Exec.Lost.Store(nil)
		for i := range 30 {
			prototest.Do(t, c, "SET", fmt.Sprint(i), "1")
		}
	}
	present := func(call *cluster.Call) bool { return string(call.Txn.Ops[0].Args[0]) == "lockstep.present" }
	for _, test := range []struct {
		name string
		lost func(shard int, call *cluster.Call) error
		want string
		keys bool
	}{
		{"a shard without a leader", func(shard int, _ *cluster.Call) error { return when(shard == 1, cluster.ErrNoLeader) },
			"-CLUSTERDOWN no leader for this slot; the command was not executed", true},
		{"lost on the way, not executed", func(shard int, call *cluster.Call) error {
			return when(shard == 1 && !present(call), cluster.ErrNoLeader)
		},
			"-INDETERMINATE FLUSHALL ran on 2 of 3 shards; shard 1 says: CLUSTERDOWN no leader for this slot; the command was not executed", false},
		{"lost on the way, unknown", func(shard int, call *cluster.Call) error {
			return when(shard == 2 && !present(call), cluster.ErrUnknown)
		},
			"-INDETERMINATE FLUSHALL ran on 2 of 3 shards; shard 2 says: INDETERMINATE the command may or may not have been executed", false},
		{"all lost, none executed", func(_ int, call *cluster.Call) error { return when(!present(call), cluster.ErrOverloaded) },
			"-OVERLOADED too many commands are waiting; this one was not executed", true},
	} {
		fill()
		n.Exec.Lost.Store(&test.lost)
		if got := prototest.Do(t, c, "FLUSHALL"); got != test.want {
			t.Errorf("%s: %s", test.name, got)
		}
		n.Exec.Lost.Store(nil)
		if size := prototest.Do(t, c, "DBSIZE"); (size == ":30") != test.keys {
			t.Errorf("%s: afterwards there are %s keys", test.name, size)
		}
	}
	for _, line := range []string{"DBSIZE", "KEYS *", "RANDOMKEY", "SCAN 2"} {
		lost := func(shard int, _ *cluster.Call) error { return when(shard == 2, cluster.ErrNoLeader) }
		n.Exec.Lost.Store(&lost)
		if got := prototest.Do(t, c, strings.Fields(line)...); !strings.HasPrefix(got, "-CLUSTERDOWN") {
			t.Errorf("%s without a shard: %s", line, got)
		}
	}
}

func when(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

// TestDigestOverShards: the digest of the same data is the same on one shard and on many, and
// equals Redis's.
func TestDigestOverShards(t *testing.T) {
	digests := map[string]bool{}
	for _, shards := range []int{1, 4} {
		n := prototest.StartNode(t, shards)
		n.Set(func(s *client.Settings) { s.DebugFor = "yes" })
		c := prototest.Dial(t, n.Addr)
		for i := range 50 {
			prototest.Do(t, c, "SET", fmt.Sprint(i), fmt.Sprint(i*i))
		}
		prototest.Do(t, c, "SELECT", "5")
		prototest.Do(t, c, "RPUSH", "list", "a", "b")
		digests[prototest.Do(t, c, "DEBUG", "DIGEST")] = true
	}
	if len(digests) != 1 {
		t.Errorf("they are %v", digests)
	}
}

// TestWholeKeyspaceInATransaction: a command that runs on all shards is refused when it is queued.
func TestWholeKeyspaceInATransaction(t *testing.T) {
	c := prototest.Dial(t, prototest.StartNode(t, 3).Addr)
	prototest.Do(t, c, "SET", "a", "1")
	for _, line := range []string{"FLUSHALL", "DBSIZE", "KEYS *", "SCAN 0", "SWAPDB 0 1", "RANDOMKEY"} {
		prototest.Do(t, c, "MULTI")
		prototest.Do(t, c, "SET", "a", "2")
		if got := prototest.Do(t, c, strings.Fields(line)...); !strings.HasPrefix(got, "-CROSSSLOT a transaction lives in one shard") {
			t.Errorf("%s: %s", line, got)
		}
		if got := prototest.Do(t, c, "EXEC"); got != "-EXECABORT Transaction discarded because of previous errors." {
			t.Errorf("%s: EXEC %s", line, got)
		}
	}
	if got := prototest.Do(t, c, "GET", "a"); got != `"1"` {
		t.Errorf("a is %s", got)
	}
}

// TestRedirect: every command on keys of a shard that another node leads gets MOVED, at the same
// moment as with Redis, and does not run.
func TestRedirect(t *testing.T) {
	n := prototest.StartNode(t, 2)
	n.Set(func(s *client.Settings) { s.Redirect = true })
	// {foo} hashes to 12182, which the test's even shard owns, {bar} to 5061.
	n.Elsewhere.Store(0, "10.0.0.9:7009")
	c := prototest.Dial(t, n.Addr)
	const moved = "-MOVED 12182 10.0.0.9:7009"
	const cross = "-CROSSSLOT Keys in request don't hash to the same slot"
	for _, step := range []struct{ line, want string }{
		{"SET {bar} 1", "+OK"}, {"SET {foo} 1", moved}, {"GET {foo}", moved}, {"MSET {foo}1 1 {foo}2 2", moved}, {"MSET {foo} 1 {bar} 2", cross},
		{"DEL {foo} {foo}2", moved}, {"BLPOP {foo} 0", moved}, {"WATCH {foo}", moved}, {"WATCH {bar} {foo}", cross}, {"OBJECT ENCODING {foo}", moved},
		{"MULTI", "+OK"}, {"SET {bar} 2", "+QUEUED"}, {"SET {foo} 2", moved}, {"EXEC", "-EXECABORT Transaction discarded because of previous errors."},
		{"GET {bar}", `"1"`}, {"ASKING", "+OK"}, {"READONLY", "+OK"}, {"GET {foo}", "(nil)"}, {"SET {foo} 1", moved}, {"READWRITE", "+OK"}, {"GET {foo}", moved},
		{"PING", "+PONG"}, {"DBSIZE", ":1"},
	} {
		if got := prototest.Do(t, c, strings.Fields(step.line)...); got != step.want {
			t.Errorf("%s: %s, not %s", step.line, got, step.want)
		}
	}
	// A shard gets another leader between queueing and EXEC.
	prototest.Do(t, c, "MULTI")
	prototest.Do(t, c, "SET", "{bar}", "3")
	n.Elsewhere.Store(1, "10.0.0.8:7008")
	if got := prototest.Do(t, c, "EXEC"); got != "-MOVED 5061 10.0.0.8:7008" {
		t.Errorf("EXEC after a change of leader: %s", got)
	}
	n.Set(func(s *client.Settings) { s.Redirect = false })
	if got := prototest.Do(t, c, "GET", "{bar}"); got != `"1"` {
		t.Errorf("forwarded: %s", got)
	}
}

// TestKeysOfOneShardNeedNotShareASlot: commands and transactions on keys of different slots of one
// shard run, also with routing redirect.
func TestKeysOfOneShardNeedNotShareASlot(t *testing.T) {
	n := prototest.StartNode(t, 2)
	c := prototest.Dial(t, n.Addr)
	// The slots of foo and hello, 12182 and 866, are even: the test's shard 0.
	for _, redirect := range []bool{false, true} {
		n.Set(func(s *client.Settings) { s.Redirect = redirect })
		for _, step := range []struct{ line, want string }{
			{"MSET foo 1 hello 2", "+OK"}, {"MULTI", "+OK"}, {"INCR foo", "+QUEUED"}, {"INCR hello", "+QUEUED"}, {"EXEC", "*2 :2 :3"}, {"DEL foo hello", ":2"},
		} {
			if got := strings.Join(strings.Fields(prototest.Do(t, c, strings.Fields(step.line)...)), " "); got != step.want {
				t.Errorf("redirect %v, %s: %s", redirect, step.line, got)
			}
		}
	}
}
