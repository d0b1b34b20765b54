package command

import (
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/hashslot"
)

func TestDeclaredKeysAreFoundAmongFewAndMany(t *testing.T) {
	for _, n := range []int{0, 1, searchedKeys, searchedKeys + 1, 5000} {
		h := &ScriptHost{}
		for i := range n {
			h.Keys = append(h.Keys, []byte("key:"+strconv.Itoa(i)))
		}
		for i := range n {
			if !h.declared([]byte("key:" + strconv.Itoa(i))) {
				t.Fatalf("of %d keys, key:%d is not found", n, i)
			}
		}
		for _, other := range []string{"", "key:", "key:-1", "key:" + strconv.Itoa(n)} {
			if h.declared([]byte(other)) {
				t.Errorf("of %d keys, %q is found", n, other)
			}
		}
	}
}

func TestWhatAScriptMayNotCall(t *testing.T) {
	readOnly := ScriptHost{ReadOnly: true}
	keyLocking := ScriptHost{KeyLocking: true, Keys: [][]byte{[]byte("a"), []byte("b")}}
	sharded := ScriptHost{Owns: func(hashSlot int) bool { return hashSlot == hashslot.Of([]byte("a")) }}
	logged := ScriptHost{ReadOnly: true, Ctx: &Ctx{Commands: Whole(), Logged: true, Meter: Meter{Settings: &DefaultSettings}}}
	full, begun := ScriptHost{MemoryFull: true}, ScriptHost{MemoryFull: true, wrote: true}
	for _, c := range []struct {
		name    string
		host    ScriptHost
		command string
		want    string
	}{
		{"any", ScriptHost{}, "set a 1", ""},
		{"any", ScriptHost{}, "nothing a", errScriptUnknown},
		{"any", ScriptHost{}, "lockstep.expire 0 a", errScriptUnknown},
		{"any", ScriptHost{}, "migrate 127.0.0.1 1 a 0 10", errScriptUnknown},
		{"any", ScriptHost{}, "lolwut", errScriptUnknown},
		{"any", ScriptHost{}, "get", errScriptArity},
		{"any", ScriptHost{}, "multi", errScriptRefused},
		{"any", ScriptHost{}, "eval return 0", errScriptRefused},
		{"read-only", readOnly, "get a", ""},
		{"read-only", readOnly, "set a 1", errScriptWrites},
		{"read-only", readOnly, "sort a", errScriptWrites},
		{"read-only", readOnly, "sort_ro a", ""},
		{"read-only", readOnly, "getex a", errScriptWrites},
		{"read-only", readOnly, "bitfield a get u8 0", errScriptWrites},
		{"read-only", readOnly, "bitfield_ro a get u8 0", ""},
		{"read-only", readOnly, "georadius a 0 0 1 m", errScriptWrites},
		{"read-only", readOnly, "spublish a 1", errScriptWrites},
		{"read-only, in the log", logged, "getex a", errScriptWrites},
		{"read-only", readOnly, "sort a store b", errScriptWrites},
		{"read-only", readOnly, "publish a 1", errScriptWrites},
		{"read-only", readOnly, "pfcount a", ""},
		{"key-locking", keyLocking, "get a", ""},
		{"key-locking", keyLocking, "mset a 1 b 2", ""},
		{"key-locking", keyLocking, "get c", errScriptDynamic + "c"},
		{"key-locking", keyLocking, "mset a 1 c 2", errScriptDynamic + "c"},
		{"key-locking", keyLocking, "keys *", errScriptWhole},
		{"key-locking", keyLocking, "flushall", errScriptWhole},
		{"key-locking", keyLocking, "flushdb", errScriptWhole},
		{"key-locking", keyLocking, "swapdb 0 1", errScriptWhole},
		{"key-locking", keyLocking, "scan 0", errScriptWhole},
		{"key-locking", keyLocking, "randomkey", errScriptWhole},
		{"key-locking", keyLocking, "dbsize", errScriptWhole},
		{"key-locking", keyLocking, "sort a by nosort", ""},
		{"key-locking", keyLocking, "sort a by w*", errScriptWhole},
		{"key-locking", keyLocking, "sort_ro a get w*", errScriptWhole},
		{"key-locking", keyLocking, "rename a c", errScriptDynamic + "c"},
		{"key-locking", keyLocking, "zunionstore a 2 b c", errScriptDynamic + "c"},
		{"key-locking", keyLocking, "sort a store c", errScriptDynamic + "c"},
		{"key-locking", keyLocking, "xread streams a c 0 0", errScriptDynamic + "c"},
		{"sharded", sharded, "get a", ""},
		{"sharded", sharded, "get {a}b", ""},
		{"sharded", sharded, "get b", errScriptForeign},
		{"memory full", full, "set a 1", ErrOOM},
		{"memory full", full, "get a", ""},
		{"memory full", full, "del a", ""},
		{"memory full in the middle", begun, "set a 1", ""},
	} {
		var args [][]byte
		for _, word := range strings.Fields(c.command) {
			args = append(args, []byte(word))
		}
		if c.host.Ctx == nil {
			c.host.Ctx = &Ctx{Commands: Whole(), Meter: Meter{Settings: &DefaultSettings}}
		}
		if got := c.host.refusal(c.host.spec(args), args); got != c.want {
			t.Errorf("%s, %s: %q, not %q", c.name, c.command, got, c.want)
		}
	}
}

// TestScriptsGetRedisAnswers where others would be as easily given.
func TestScriptsGetRedisAnswers(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"return redis.call('sort', 's', 'by', 'nosort')", "*3 $1 a $1 b $1 c"},
		{"return redis.pcall('bzmpop', 0, 1, 'none', 'min')", "$-1"},
		{"return redis.pcall('XREAD', 'block', '-1', 'streams', 'a', '0')", "-ERR XREAD command is not allowed with BLOCK option from scripts"},
		{"return redis.pcall('xtrim', 'a', 'limit', '0')", "-" + ErrTrimMissing},
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
		r := NewRunner(t)
		r.Do("sadd s c a b")
		r.Do("set k v pxat 9223372036854775807")
		if got := Flat(r.Exec([]byte("eval"), []byte(c.script), []byte("0"))); got != c.want {
			t.Errorf("%s: %s, want %s", c.script, got, c.want)
		}
	}
	// And so does who calls without a script.
	r := NewRunner(t)
	r.Do("set k v pxat 9223372036854775807")
	for line, want := range map[string]string{"expiretime k": ":9223372036854776", "xtrim a limit 0": "-" + ErrTrimMissing, `scan 0 type ""`: "*2 $1 0 *0"} {
		if got := r.Do(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// BenchmarkDeclaredKeys looks for the last of so many keys.
func BenchmarkDeclaredKeys(b *testing.B) {
	h := &ScriptHost{}
	for i := range 100_000 {
		h.Keys = append(h.Keys, []byte("key:"+strconv.Itoa(i)))
	}
	last := h.Keys[len(h.Keys)-1]
	for b.Loop() {
		if !h.declared(last) {
			b.Fatal("not found")
		}
	}
}
