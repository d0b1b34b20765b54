package fsm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/hashslot"
	"lockstep/engine/script"
)

// ask applies a txn and returns its reply.
func (m *lockedMachine) ask(t Txn) string {
	m.t.Helper()
	n := m.apply(t)
	m.executed(n)
	return m.reply(n)
}

func (m *lockedMachine) set(name, value string) {
	m.t.Helper()
	m.executed(m.apply(Txn{Kind: KindSetting, Proto: 2, Ops: txnOf(0, "lockstep.set", name, value).Ops}))
	if got, _ := ptrTo(m.Settings()).Get(name); fmt.Sprint(got) != value {
		m.t.Fatalf("%s is %d", name, got)
	}
}

func ptrTo[T any](v T) *T { return &v }

// wants applies a txn and expects a reply with that prefix.
func (m *lockedMachine) wants(t Txn, want string) {
	m.t.Helper()
	if got := m.ask(t); !strings.HasPrefix(got, want) {
		m.t.Errorf("%.200q\n got %.300q\nwant %q", t.Ops[0].Args, got, want)
	}
}

// TestScriptsWhenMemoryIsFull: the leader's knowledge of the memory is in the log. Scripts refuse
// commands that may need memory, but not after they have written.
func TestScriptsWhenMemoryIsFull(t *testing.T) {
	m := newLockedMachine(t)
	const oom = "-OOM command not allowed when used memory > 'maxmemory'."
	for _, c := range []struct{ source, want string }{
		{"return redis.call('set', KEYS[1], 1)", oom},
		{"return redis.pcall('set', KEYS[1], 1)", oom},
		{"return redis.call('get', KEYS[1])", "$-1"},
		{"return redis.call('del', KEYS[1])", ":0"},
		{"redis.call('del', KEYS[1]) return redis.call('set', KEYS[1], 1)", "+OK"},
		{"#!lua\nreturn redis.call('get', KEYS[1])", oom},
		{"#!lua flags=allow-oom\nreturn redis.call('set', KEYS[1], 1)", "+OK"},
		{"#!lua flags=no-writes\nreturn redis.call('get', KEYS[1])", "$1"},
	} {
		txn := evalTxn(c.source, "k")
		if !txn.GrowsMemory() || !txn.Bends() {
			t.Fatal("a script is to be told when memory is full")
		}
		txn.MemoryFull = true
		if txn.GrowsMemory() {
			t.Fatal("a script that was told enters the log")
		}
		m.wants(txn, c.want)
	}
	if mixed := inExec(evalTxn(incrs, "k"), txnOf(0, "set", "k", "1")); mixed.Bends() {
		t.Error("a transaction with a SET cannot be told")
	}
}

// TestAScriptKeepsToItsShard: a key of another shard would have two values.
func TestAScriptKeepsToItsShard(t *testing.T) {
	m := newLockedMachine(t)
	own := hashslot.Of([]byte("a"))
	m.cfg.Owns = func(slot int) bool { return slot == own }
	const foreign = "-ERR Script attempted to access a non local key in a cluster node"
	m.wants(evalTxn("return redis.call('set', KEYS[1], 1)", "a"), "+OK")
	m.wants(evalTxn("return redis.call('set', 'b', 1)", "a"), foreign)
	m.wants(evalTxn("return redis.pcall('mget', 'a', 'b')", "a"), foreign)
	m.wants(evalTxn("#!lua flags=allow-cross-slot-keys\nreturn redis.call('get', '{a}b')", "a"), "$-1")
	m.wants(evalTxn("#!lua flags=no-cluster\nreturn 1", "a"), "-ERR Can not run script on cluster, 'no-cluster' flag is set.")
}

// TestTheScriptCacheIsInSnapshots: the script cache is part of snapshots, and loaded scripts stay
// loaded.
func TestTheScriptCacheIsInSnapshots(t *testing.T) {
	m := newLockedMachine(t)
	m.set("script-cache-max-scripts", "4")
	loaded := "return 'loaded'"
	m.wants(txnOf(0, "script", "load", loaded), "$40")
	for i := range 10 {
		m.wants(evalTxn(fmt.Sprintf("return %d", i)), fmt.Sprintf(":%d", i))
	}
	check := func(when string) {
		t.Helper()
		for source, want := range map[string]string{loaded: "$6", "return 9": ":9", "return 7": ":7", "return 6": "-NOSCRIPT", "return 0": "-NOSCRIPT"} {
			if got := m.ask(txnOf(0, "evalsha", script.SHA1([]byte(source)), "0")); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s answers %q", when, source, got)
			}
		}
	}
	check("before")
	image := imageOf(t, m.Machine)
	m.wants(txnOf(0, "script", "flush"), "+OK")
	m.wants(txnOf(0, "evalsha", script.SHA1([]byte(loaded)), "0"), "-NOSCRIPT")
	if err := m.Restore(bytes.NewReader(image)); err != nil {
		t.Fatal(err)
	}
	m.index = m.Executed()
	clear(m.replies.replies)
	check("after")
	m.wants(txnOf(0, "script", "load", "return 'another'"), "$40")
	for i := range 4 {
		m.wants(txnOf(0, "script", "load", fmt.Sprintf("return 'one of many %d'", i)), map[bool]string{true: "$40", false: "-ERR the script cache is full"}[i < 2])
	}
	m.wants(evalTxn("return 'runs all the same'"), "$17")
}

// TestATransactionsScriptsShareTheirLimits: a transaction ends, however many scripts it has.
func TestATransactionsScriptsShareTheirLimits(t *testing.T) {
	m := newLockedMachine(t)
	m.set("script-max-work-ms", "10")
	loop := evalTxn("for i = 1, 100000 do end return 'done'")
	m.wants(loop, "$4")
	var txns []Txn
	for range 5 {
		txns = append(txns, loop)
	}
	got := m.ask(inExec(txns...))
	if done, over := strings.Count(got, "done"), strings.Count(got, "the script was ended: it did more than 10 ms of work"); done == 0 || over == 0 || done+over != 5 {
		t.Errorf("%d done, %d over: %q", done, over, got)
	}
}

// TestATransactionEndsItsWork: the work of commands that announce none also adds up, and the
// commands behind the limit are refused.
func TestATransactionEndsItsWork(t *testing.T) {
	m := newLockedMachine(t)
	m.wants(evalTxn("for i = 1, 1000 do redis.call('rpush', KEYS[1], i) end", "l"), "$-1")
	m.set("txn-max-work-ms", "1")
	var txns []Txn
	for range 100 {
		txns = append(txns, txnOf(0, "lrange", "l", "0", "-1"))
	}
	txns = append(txns, txnOf(0, "set", "k", "v"))
	got := m.ask(inExec(txns...))
	if done, over := strings.Count(got, "*1000\r\n"), strings.Count(got, "-"+command.ErrWork); done < 5 || over < 5 || done+over != len(txns) {
		t.Errorf("%d done, %d refused of %d", done, over, len(txns))
	}
	m.wants(txnOf(0, "exists", "k"), ":0")
}

// TestWorkOfCommandsCounts: a loop of commands that look at much ends as soon as a loop that does
// something else.
func TestWorkOfCommandsCounts(t *testing.T) {
	m := newLockedMachine(t)
	fill := "for i = 1, 5000 do redis.call('zadd', KEYS[1], i, i) redis.call('rpush', KEYS[2], i) end redis.call('setrange', KEYS[3], 3000000, 'x')"
	m.wants(evalTxn(fill, "z", "l", "s"), "$-1")
	m.set("script-max-work-ms", "20")
	for command, most := range map[string]int{
		"'zunionstore', 'o', 1, 'z'": 200, "'sort', 'l', 'store', 'o'": 200, "'lrange', 'l', 0, 0": 50_000, "'bitcount', 's'": 100,
		"'keys', 'none*'": 10_000, "'linsert', 'l', 'before', 'none', 'x'": 5000, "'lpos', 'l', 'none'": 5000,
	} {
		m.wants(evalTxn("while true do redis.call('incr', 'n') redis.call("+command+") end"), "-ERR user_script:1: the script was ended")
		var n int
		if _, err := fmt.Sscanf(m.ask(txnOf(0, "getset", "n", "0")), "$%d\r\n%d", new(int), &n); err != nil || n == 0 || n > most {
			t.Errorf("%s: ran %d times, %v", command, n, err)
		}
	}
}
