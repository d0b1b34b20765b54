package fsm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/rdb"
)

// simBodies are functions of the determinism run, with their flags. Some keep a value in their
// library: in a variable, in a table, in a closure. Some depend on work that runs beside them. Some
// fail in the middle or do not end by themselves.
var simBodies = []struct{ flags, body string }{
	{"", `return redis.call('incr', keys[1])`},
	{"", `calls = calls + 1 redis.call('set', keys[1], calls) return calls`},
	{"", `kept[#kept + 1] = keys[1] redis.call('rpush', keys[1], #kept) return kept`},
	{"", `return {next_number(), next_number()}`},
	{"'allow-key-locking'", `return redis.call('append', keys[1], args[1])`},
	{"'allow-key-locking'", `calls = calls + #args return redis.call('incrby', keys[1], calls)`},
	{"'allow-key-locking'", `return redis.pcall('set', args[1], args[2])`},
	{"'allow-key-locking'", `return 'nothing'`},
	{"'allow-key-locking', 'no-writes'", `return redis.call('get', keys[1])`},
	{"'no-writes'", `return {redis.call('dbsize'), redis.call('keys', '*')}`},
	{"'no-writes'", `return redis.call('set', keys[1], 1)`},
	{"'allow-oom'", `redis.call('sadd', keys[1], unpack(args)) return redis.call('spop', keys[1])`},
	{"'allow-key-locking'", `redis.call('set', keys[1], 1) error('in the middle')`},
	{"", `local n = 0 while true do n = n + 1 redis.call('set', keys[1], n) end`},
	{"'allow-key-locking'", `local n = 0 while true do n = n + 1 pcall(redis.call, 'hset', keys[1], n % 50, n) end`},
	{"'no-cluster'", `redis.call('flushdb') return math.random(1e9)`},
}

const simLibraryHead = `local calls, kept = 0, {}
local function counter() local n = 0 return function() n = n + 1 return n end end
local next_number = counter()
`

const simLibraries, simFunctions = 5, 12

// library draws a library's text. Different libraries share some names of functions, and some have
// the same name.
func (l *simLog) library() string {
	switch l.rng.IntN(20) {
	case 0:
		return string(l.word())
	case 1:
		return "#!lua name=endless\nwhile true do end"
	case 2:
		return "#!lua name=none\nlocal x = 1"
	case 3:
		return "#!lua name=many\nfor i = 1, 1e5 do redis.register_function('f' .. i, function() end) end"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#!lua name=lib%d\n%s", l.rng.IntN(simLibraries), simLibraryHead)
	for range 1 + l.rng.IntN(4) {
		f := simBodies[l.rng.IntN(len(simBodies))]
		fmt.Fprintf(&b, "redis.register_function{function_name='f%d', callback=function(keys, args) %s end, flags={%s}}\n", l.rng.IntN(simFunctions), f.body, f.flags)
	}
	return b.String()
}

func (l *simLog) libraryPayload() string {
	var list [][]byte
	for range l.rng.IntN(4) {
		list = append(list, []byte(l.library()))
	}
	return string(rdb.AppendFunctions(nil, list))
}

func init() {
	call := func(l *simLog) []string {
		return append([]string{fmt.Sprint("f", l.rng.IntN(simFunctions+1))}, l.program()...)
	}
	sensible["fcall"], sensible["fcall_ro"] = call, call
	sensible["function|load"] = func(l *simLog) []string {
		if l.rng.IntN(4) > 0 {
			return []string{"replace", l.library()}
		}
		return []string{l.library()}
	}
	sensible["function|restore"] = func(l *simLog) []string {
		return []string{l.libraryPayload(), []string{"append", "replace", "replace", "replace", "flush"}[l.rng.IntN(5)]}
	}
	sensible["function|delete"] = func(l *simLog) []string { return []string{fmt.Sprint("lib", l.rng.IntN(simLibraries))} }
	sensible["function|list"] = func(l *simLog) []string { return []string{"withcode"} }
	for _, name := range []string{"flush", "dump", "stats", "kill"} {
		sensible["function|"+name] = func(*simLog) []string { return nil }
	}
}

// functionTxn is a call of a function, or a change of the functions. Often several of both are in
// one transaction, which a failed watch may end.
func (l *simLog) functionTxn(t *Txn) {
	if l.rng.IntN(30) == 0 {
		settings := [][]string{{"function-max-libraries", "2", "4", "1000"}, {"function-max-functions", "5", "1000"}, {"function-max-bytes", "1500", "100000"}}
		s := settings[l.rng.IntN(len(settings))]
		t.Kind = KindSetting
		t.Ops = []Op{{Args: [][]byte{[]byte("lockstep.set"), []byte(s[0]), []byte(s[1+l.rng.IntN(len(s)-1)])}}}
		return
	}
	t.MemoryFull = l.rng.IntN(20) == 0
	if l.rng.IntN(2) == 0 {
		// The receiver of a script makes no difference.
		t.Caller = command.Caller{Node: 7, Client: 300, Watched: t.MemoryFull}
	}
	t.Ops = []Op{l.functionOp()}
	if l.rng.IntN(4) == 0 {
		t.Kind = KindExec
		for range 1 + l.rng.IntN(3) {
			t.Ops = append(t.Ops, l.functionOp())
		}
		if l.rng.IntN(2) == 0 {
			t.Watches = []Watch{{DB: 0, Key: l.word(), Version: l.rng.Uint64N(50), SeenAt: l.rng.Uint64N(4000)}}
		}
	}
}

func (l *simLog) functionOp() Op {
	names := []string{"fcall", "fcall", "fcall", "fcall", "fcall", "fcall", "fcall", "fcall_ro", "function|load", "function|load", "function|list", "function|stats", "function|delete"}
	if l.rng.IntN(40) == 0 {
		names = []string{"function|flush", "function|restore", "function|dump", "function|kill"}
	}
	return l.opOf(names[l.rng.IntN(len(names))])
}

// TestFunctionsInSnapshots: a snapshot that is taken while functions change has the functions as of
// its place in the log. After a restore they can be called as before.
func TestFunctionsInSnapshots(t *testing.T) {
	m := testMachine(t, nil)
	const theirs = "#!lua name=theirs\nredis.register_function('f', function(keys) return redis.call('incr', keys[1]) end)"
	const ours = "#!lua name=ours\nredis.register_function{function_name='g', callback=function(keys) return redis.call('incr', keys[1]) end, flags={'allow-key-locking'}}"
	apply := func(index uint64, txns ...Txn) {
		t.Helper()
		if err := m.Apply(index, entryOf(index, Bundle{Txns: txns})); err != nil {
			t.Fatal(err)
		}
	}
	apply(1, txnOf(0, "function", "load", theirs), txnOf(0, "function", "load", ours), txnOf(0, "set", "k", "5"))
	snap, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	apply(2, txnOf(0, "function", "flush"), txnOf(0, "function", "load", strings.ReplaceAll(theirs, "theirs", "later")))
	deadline := time.Now().Add(locksPatience)
	for m.Executed() < 2 && time.Now().Before(deadline) {
		if err := m.WaitExecuted(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
	var image bytes.Buffer
	if err := snap.Persist(&image); err != nil {
		t.Fatal(err)
	}
	fresh := testMachine(t, nil)
	if err := fresh.Restore(&image); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range fresh.Programs().Functions.Libraries() {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); got != "ours theirs" {
		t.Errorf("the snapshot holds the libraries %q", got)
	}
	for i, name := range []string{"f", "g"} {
		if err := fresh.Apply(uint64(2+i), entryOf(uint64(2+i), Bundle{Txns: []Txn{txnOf(0, "fcall", name, "1", "k")}})); err != nil {
			t.Fatal(err)
		}
	}
	if err := fresh.WaitExecuted(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, fresh, "get", "k"); got != "$1\r\n7\r\n" {
		t.Errorf("both were called once, and k is %q", got)
	}
}
