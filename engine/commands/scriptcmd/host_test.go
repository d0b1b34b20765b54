package scriptcmd_test

import (
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/commands/streamcmd"
	"lockstep/engine/hashslot"
	"lockstep/tests/kit/cmdtest"
)

func TestDeclaredKeysAreFoundAmongFewAndMany(t *testing.T) {
	for _, n := range []int{0, 1, scriptcmd.SearchedKeys, scriptcmd.SearchedKeys + 1, 5000} {
		h := &scriptcmd.Host{}
		for i := range n {
			h.Keys = append(h.Keys, []byte("key:"+strconv.Itoa(i)))
		}
		for i := range n {
			if !h.Declared([]byte("key:" + strconv.Itoa(i))) {
				t.Fatalf("of %d keys, key:%d is not found", n, i)
			}
		}
		for _, other := range []string{"", "key:", "key:-1", "key:" + strconv.Itoa(n)} {
			if h.Declared([]byte(other)) {
				t.Errorf("of %d keys, %q is found", n, other)
			}
		}
	}
}

func TestWhatAScriptMayNotCall(t *testing.T) {
	readOnly := scriptcmd.Host{ReadOnly: true}
	keyLocking := scriptcmd.Host{KeyLocking: true, Keys: [][]byte{[]byte("a"), []byte("b")}}
	sharded := scriptcmd.Host{Owns: func(hashSlot int) bool { return hashSlot == hashslot.Of([]byte("a")) }}
	logged := scriptcmd.Host{ReadOnly: true, Ctx: &command.Ctx{Commands: commands.Table(), Logged: true, Meter: command.Meter{Settings: &command.DefaultSettings}}}
	full, begun := scriptcmd.Host{MemoryFull: true}, scriptcmd.AfterWriting(scriptcmd.Host{MemoryFull: true})
	for _, c := range []struct {
		name    string
		host    scriptcmd.Host
		command string
		want    string
	}{
		{"any", scriptcmd.Host{}, "set a 1", ""},
		{"any", scriptcmd.Host{}, "nothing a", scriptcmd.ErrScriptUnknown},
		{"any", scriptcmd.Host{}, "lockstep.expire 0 a", scriptcmd.ErrScriptUnknown},
		{"any", scriptcmd.Host{}, "migrate 127.0.0.1 1 a 0 10", scriptcmd.ErrScriptUnknown},
		{"any", scriptcmd.Host{}, "lolwut", scriptcmd.ErrScriptUnknown},
		{"any", scriptcmd.Host{}, "get", scriptcmd.ErrScriptArity},
		{"any", scriptcmd.Host{}, "multi", scriptcmd.ErrScriptRefused},
		{"any", scriptcmd.Host{}, "eval return 0", scriptcmd.ErrScriptRefused},
		{"read-only", readOnly, "get a", ""},
		{"read-only", readOnly, "set a 1", scriptcmd.ErrScriptWrites},
		{"read-only", readOnly, "sort a", scriptcmd.ErrScriptWrites},
		{"read-only", readOnly, "sort_ro a", ""},
		{"read-only", readOnly, "getex a", scriptcmd.ErrScriptWrites},
		{"read-only", readOnly, "bitfield a get u8 0", scriptcmd.ErrScriptWrites},
		{"read-only", readOnly, "bitfield_ro a get u8 0", ""},
		{"read-only", readOnly, "georadius a 0 0 1 m", scriptcmd.ErrScriptWrites},
		{"read-only", readOnly, "spublish a 1", scriptcmd.ErrScriptWrites},
		{"read-only, in the log", logged, "getex a", scriptcmd.ErrScriptWrites},
		{"read-only", readOnly, "sort a store b", scriptcmd.ErrScriptWrites},
		{"read-only", readOnly, "publish a 1", scriptcmd.ErrScriptWrites},
		{"read-only", readOnly, "pfcount a", ""},
		{"key-locking", keyLocking, "get a", ""},
		{"key-locking", keyLocking, "mset a 1 b 2", ""},
		{"key-locking", keyLocking, "get c", scriptcmd.ErrScriptDynamic + "c"},
		{"key-locking", keyLocking, "mset a 1 c 2", scriptcmd.ErrScriptDynamic + "c"},
		{"key-locking", keyLocking, "keys *", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "flushall", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "flushdb", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "swapdb 0 1", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "scan 0", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "randomkey", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "dbsize", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "sort a by nosort", ""},
		{"key-locking", keyLocking, "sort a by w*", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "sort_ro a get w*", scriptcmd.ErrScriptWhole},
		{"key-locking", keyLocking, "rename a c", scriptcmd.ErrScriptDynamic + "c"},
		{"key-locking", keyLocking, "zunionstore a 2 b c", scriptcmd.ErrScriptDynamic + "c"},
		{"key-locking", keyLocking, "sort a store c", scriptcmd.ErrScriptDynamic + "c"},
		{"key-locking", keyLocking, "xread streams a c 0 0", scriptcmd.ErrScriptDynamic + "c"},
		{"sharded", sharded, "get a", ""},
		{"sharded", sharded, "get {a}b", ""},
		{"sharded", sharded, "get b", scriptcmd.ErrScriptForeign},
		{"memory full", full, "set a 1", command.ErrOOM},
		{"memory full", full, "get a", ""},
		{"memory full", full, "del a", ""},
		{"memory full in the middle", begun, "set a 1", ""},
	} {
		var args [][]byte
		for _, word := range strings.Fields(c.command) {
			args = append(args, []byte(word))
		}
		if c.host.Ctx == nil {
			c.host.Ctx = &command.Ctx{Commands: commands.Table(), Meter: command.Meter{Settings: &command.DefaultSettings}}
		}
		if got := c.host.Refusal(args); got != c.want {
			t.Errorf("%s, %s: %q, not %q", c.name, c.command, got, c.want)
		}
	}
}

// TestScriptsGetRedisAnswers checks replies that an implementation could easily give in another
// way.
func TestScriptsGetRedisAnswers(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"return redis.call('sort', 's', 'by', 'nosort')", "*3 $1 a $1 b $1 c"},
		{"return redis.pcall('bzmpop', 0, 1, 'none', 'min')", "$-1"},
		{"return redis.pcall('XREAD', 'block', '-1', 'streams', 'a', '0')", "-ERR XREAD command is not allowed with BLOCK option from scripts"},
		{"return redis.pcall('xtrim', 'a', 'limit', '0')", "-" + streamcmd.ErrTrimMissing},
		{"return #redis.call('scan', '0', 'type', '')[2]", ":0"},
		{"return redis.call('expiretime', 'k')", ":9223372036854776"},
		{"return cmsgpack.unpack('\\207\\255\\255\\255\\255\\255\\255\\255\\255')", ":-1"},
		{"return {pcall(redis.setresp, 2.5)}", "*1 :1"},
		{"return {pcall(cjson.decode, '[01]')}", "*2 :1 *1 :1"},
		{"return {pcall(cjson.encode, {[true] = 1})}", "*2 $-1 $62 Cannot serialise boolean: table key must be a number or string"},
		{"return {#string.format('%c|', 0), #string.format('%3c|', 0)}", "*2 :1 :3"},
		{"return {pcall(string.format, '%d')}", "*2 $-1 $33 bad argument #2 to '?' (no value)"},
		{"return {pcall(assert, nil, {})}", "*2 $-1 $51 bad argument #2 to '?' (string expected, got table)"},
		{"return {pcall(struct.size, '=s')}", "*2 $-1 $50 bad argument #1 to '?' (invalid format option '=')"},
		{"return #struct.pack('n', 1)", "-ERR user_script:1: bad argument #1 to 'pack' (invalid format option 'n') script: 516f7933daf5ffbe43bb47a9395592de4792124a, on @user_script:1."},
		{`return {pcall(loadstring("error('x')", '=name'))}`, "*2 $-1 $9 name:1: x"},
		{"return bit.tobit(3609017278726836385)", ":201023816"},
		{"return tonumber('1\\0')", ":1"},
		{"local x = 5 return {pcall(function()\nreturn x() end)}", "*2 $-1 $59 user_script:2: attempt to call upvalue 'x' (a number value)"},
		{"return {pcall(redis.set_repl)}", "*2 $-1 $44 ERR redis.set_repl() requires two arguments."},
	} {
		r := cmdtest.NewRunner(t)
		r.Do("sadd s c a b")
		r.Do("set k v pxat 9223372036854775807")
		if got := cmdtest.Flat(r.Exec([]byte("eval"), []byte(c.script), []byte("0"))); got != c.want {
			t.Errorf("%s: %s, want %s", c.script, got, c.want)
		}
	}
	// A call without a script gets the same replies.
	r := cmdtest.NewRunner(t)
	r.Do("set k v pxat 9223372036854775807")
	for line, want := range map[string]string{"expiretime k": ":9223372036854776", "xtrim a limit 0": "-" + streamcmd.ErrTrimMissing, `scan 0 type ""`: "*2 $1 0 *0"} {
		if got := r.Do(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// BenchmarkDeclaredKeys looks up the last of many keys.
func BenchmarkDeclaredKeys(b *testing.B) {
	h := &scriptcmd.Host{}
	for i := range 100_000 {
		h.Keys = append(h.Keys, []byte("key:"+strconv.Itoa(i)))
	}
	last := h.Keys[len(h.Keys)-1]
	for b.Loop() {
		if !h.Declared(last) {
			b.Fatal("not found")
		}
	}
}
