package script_test

import (
	"fmt"
	"runtime"
	"testing"

	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// kept are kinds of value of which a script may keep many, with a new one for each i.
var kept = []struct{ name, expression string }{
	{"empty tables", `{}`},
	{"tables of an element", `{i}`},
	{"tables of elements", `{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}`},
	{"tables of a field", `{a = i}`},
	{"tables of fields", `{a = 1, b = 2, c = 3, d = 4, e = 5}`},
	{"tables of many fields", `{a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13, n = 14, o = 15, p = 16, q = 17}`},
	{"tables with a late field", `(function() local t = {} t.a = i return t end)()`},
	{"tables with a late element", `(function() local t = {} t[1] = i return t end)()`},
	{"tables with a late number", `(function() local t = {} t[0] = i return t end)()`},
	{"tables with many late fields", `(function() local t = {} for k = 1, 100 do t['k' .. k] = k end return t end)()`},
	{"tables with many late elements", `(function() local t = {} for k = 1, 100 do t[k] = k end return t end)()`},
	{"sparse tables", `(function() local t = {} t[1000] = i return t end)()`},
	{"short strings", `'k' .. i`},
	{"long strings", `string.rep('x', 10000)`},
	{"joined strings", `table.concat({'abc', 'def', i})`},
	{"closures", `function() return i end`},
	{"coroutines", `coroutine.create(function() end)`},
	{"status replies", `redis.call('SET', 'k', 'v')`},
	{"own status replies", `redis.status_reply('OK')`},
	{"error replies", `redis.pcall('nosuch')`},
	{"bulk replies", `redis.call('ECHO', 'some text that is not short')`},
	{"lists", `redis.call('LRANGE', 'l', 0, -1)`},
	{"values of cjson", `cjson.decode('{"a":1,"b":[1,2,3],"c":"text"}')`},
	{"values of cmsgpack", `cmsgpack.unpack('\131\161a\1\161b\147\1\2\3\161c\164text')`},
	{"iterators", `string.gmatch('abc', '.')`},
}

// TestBytes: the bytes that count for script-max-memory are about those that are allocated.
func TestBytes(t *testing.T) {
	const n = 500
	limits := script.DefaultLimits
	for _, k := range kept {
		source := fmt.Sprintf("redis.call('RPUSH', 'l', 1, 2, 3, 4, 5) local all = {} for i = 1, %d do all[i] = %s end", n, k.expression)
		s, err := script.Compile([]byte(source), &limits)
		if err != nil {
			t.Fatal(err)
		}
		var e script.Interpreters
		made, charged := uint64(0), int64(0)
		for range 2 { // the first run makes an interpreter
			var before, after runtime.MemStats
			budget, out := limits.Budget(), reply.NewWriter(reply.RESP2)
			host := newHost()
			runtime.ReadMemStats(&before)
			e.Run(s, &script.Run{Host: host, Limits: &limits, Budget: &budget}, out)
			runtime.ReadMemStats(&after)
			if got := string(out.Bytes()); got != "$-1\r\n" {
				t.Fatalf("%s: %q", k.name, got)
			}
			made, charged = after.TotalAlloc-before.TotalAlloc, limits.Bytes-budget.Bytes
		}
		factor := float64(made) / float64(charged)
		t.Logf("%-32s %6d bytes each, %6d charged: %.2f", k.name, made/n, charged/n, factor)
		if factor < 0.4 || factor > 2 {
			t.Errorf("%s: %d bytes each, %d are charged", k.name, made/n, charged/n)
		}
	}
}
