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
		c.host.Ctx = &Ctx{}
		if got := c.host.refusal(scriptSpec(args), args); got != c.want {
			t.Errorf("%s, %s: %q, not %q", c.name, c.command, got, c.want)
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
