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
		{"any", ScriptHost{}, "xread block 0 streams a 0", "ERR xread command is not allowed with BLOCK option from scripts"},
		{"read-only", readOnly, "get a", ""},
		{"read-only", readOnly, "set a 1", errScriptWrites},
		{"read-only", readOnly, "sort a", ""},
		{"read-only", readOnly, "sort a store b", errScriptWrites},
		{"read-only", readOnly, "publish a 1", errScriptWrites},
		{"read-only", readOnly, "pfcount a", ""},
		{"key-locking", keyLocking, "get a", ""},
		{"key-locking", keyLocking, "mset a 1 b 2", ""},
		{"key-locking", keyLocking, "get c", errScriptDynamic + "c"},
		{"key-locking", keyLocking, "mset a 1 c 2", errScriptDynamic + "c"},
		{"key-locking", keyLocking, "keys *", errScriptWhole},
		{"key-locking", keyLocking, "flushall", errScriptWhole},
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
		c.host.Ctx = &Ctx{Settings: &DefaultSettings}
		if got := c.host.refusal(scriptSpec(args), args); got != c.want {
			t.Errorf("%s, %s: %q, not %q", c.name, c.command, got, c.want)
		}
	}
}

// TestScriptsGetRedisAnswersWithTheVersion: what a script does hangs on the answers
// it gets, so they change when every node gives the new ones, and not before.
func TestScriptsGetRedisAnswersWithTheVersion(t *testing.T) {
	const negative = "ERR timeout is negative"
	for _, c := range []struct{ script, before, since string }{
		{"return redis.call('sort', 's', 'by', 'nosort')", "*3 $1 c $1 a $1 b", "*3 $1 a $1 b $1 c"},
		{"return redis.pcall('bzmpop', 0, 1, 'none', 'min')", "-ERR bzmpop command is not allowed with BLOCK option from scripts", "$-1"},
		{"return redis.pcall('XREAD', 'block', '-1', 'streams', 'a', '0')", "-" + negative, "-ERR XREAD command is not allowed with BLOCK option from scripts"},
		{"return redis.pcall('xtrim', 'a', 'limit', '0')", "-" + errTrimMissingOnce, "-" + ErrTrimMissing},
		{"return #redis.call('scan', '0', 'type', '')[2]", ":2", ":0"},
		{"return redis.call('expiretime', 'k')", ":-9223372036854776", ":9223372036854776"},
		{"return cmsgpack.unpack('\\207\\255\\255\\255\\255\\255\\255\\255\\255')", ":-9223372036854775808", ":-1"},
		{"return {pcall(redis.setresp, 2.5)}", "*2 $-1 $32 ERR RESP version must be 2 or 3.", "*1 :1"},
	} {
		for asRedis, want := range []string{c.before, c.since} {
			r := newRunner(t)
			r.settings.AsRedis = int64(asRedis)
			r.do("sadd s c a b")
			r.do("set k v pxat 9223372036854775807")
			if got := flat(r.exec([]byte("eval"), []byte(c.script), []byte("0"))); got != want {
				t.Errorf("%s, %d: %s, want %s", c.script, asRedis, got, want)
			}
		}
	}
	// Without a script there is nothing to wait for.
	r := newRunner(t)
	r.do("set k v pxat 9223372036854775807")
	for line, want := range map[string]string{"expiretime k": ":9223372036854776", "xtrim a limit 0": "-" + ErrTrimMissing, `scan 0 type ""`: "*2 $1 0 *0"} {
		if got := r.do(line); got != want {
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
