package script_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/engine/script"
	"lockstep/tests/kit/golden"
)

// can are operations that scripts repeat: each is a row of the table in docs/scripts.md.
var can = []struct{ what, setup, body string }{
	{"iterations of an empty loop", ``, ``},
	{"iterations of `x = (x * 3 + i) % 1000`", `local x = 0`, `x = (x * 3 + i) % 1000`},
	{"calls of a function of the script", `local function f(a, b) return a end`, `f(i, 2)`},
	{"`redis.call('GET', 'k')`", `redis.call('SET', 'k', 'value')`, `redis.call('GET', 'k')`},
	{"`redis.call('SET', 'k' .. i, i)`, new keys", ``, `redis.call('SET', 'k' .. i, i)`},
	{"`redis.call('INCR', 'k')`", ``, `redis.call('INCR', 'k')`},
	{"`redis.call('HSET', 'h', 'f' .. i, i)`, new fields", ``, `redis.call('HSET', 'h', 'f' .. i, i)`},
	{"`redis.call('SADD', 's', 'm' .. i)`, new members", ``, `redis.call('SADD', 's', 'm' .. i)`},
	{"`redis.call('ZADD', 'z', i, 'm' .. i)`, new members", ``, `redis.call('ZADD', 'z', i, 'm' .. i)`},
	{"`redis.call('RPUSH', 'l', i)`", ``, `redis.call('RPUSH', 'l', i)`},
	{"`redis.call('SET', 'k', i)` and `redis.call('DEL', 'k')`", ``, `redis.call('SET', 'k', i) redis.call('DEL', 'k')`},
	{"`redis.call('HGETALL', 'h')`, 10 fields", `for i = 1, 10 do redis.call('HSET', 'h', 'f' .. i, i) end`, `redis.call('HGETALL', 'h')`},
	{"`redis.call('ZRANGE', 'z', 0, 99)`", `for i = 1, 1000 do redis.call('ZADD', 'z', i, 'member' .. i) end`, `redis.call('ZRANGE', 'z', 0, 99)`},
	{"`redis.call('LRANGE', 'l', 0, 999)`", `for i = 1, 1000 do redis.call('RPUSH', 'l', 'element' .. i) end`, `redis.call('LRANGE', 'l', 0, 999)`},
	{"`'key:' .. i`", ``, `local s = 'key:' .. i`},
	{"joins of 1,000 strings by `table.concat`", `local t = {} for i = 1, 1000 do t[i] = 'some text' end`, `table.concat(t)`},
	{"elements added to a table", `local t = {}`, `t[#t + 1] = i`},
	{"fields added to a table", `local t = {}`, `t['k' .. i] = i`},
	{"steps of `pairs`", `local t = {} for i = 1, 10000 do t['k' .. i] = i end local k`, `k = next(t, k)`},
	{"`string.format('%s:%d', 'key', i)`", ``, `string.format('%s:%d', 'key', i)`},
	{"`string.match('key:123', '^(%a+):(%d+)$')`", ``, `string.match('key:123', '^(%a+):(%d+)$')`},
	{"`tonumber('123')`", ``, `tonumber('123')`},
	{"sorts of 1,000 numbers by `table.sort`", `local u = {} for i = 1, 1000 do u[i] = (i * 7919) % 1000 end`, `local t = {unpack(u)} table.sort(t)`},
	{"`cjson.encode` of 3 fields", `local t = {a = 1, b = 'text', c = {1, 2, 3}}`, `cjson.encode(t)`},
	{"`cjson.decode` of 3 fields", ``, `cjson.decode('{"a":1,"b":"text","c":[1,2,3]}')`},
	{"`cmsgpack.pack` of 3 fields", `local t = {a = 1, b = 'text', c = {1, 2, 3}}`, `cmsgpack.pack(t)`},
	{"`redis.sha1hex` of 100 bytes", `local s = string.rep('x', 100)`, `redis.sha1hex(s)`},
	{"errors that `pcall` catches", ``, `pcall(error, 'x')`},
	{"coroutines", ``, `coroutine.wrap(function() end)()`},
}

// takes returns the work and the bytes that a script takes from the limits.
func takes(t *testing.T, source string) (work, bytes float64) {
	t.Helper()
	limits := script.DefaultLimits
	s, err := script.Compile([]byte(source), &limits)
	if err != nil {
		t.Fatal(err)
	}
	budget := limits.Budget()
	var e script.Interpreters
	out := reply.NewWriter(reply.RESP2)
	e.Run(s, &script.Run{Host: newHost(), Limits: &limits, Budget: &budget}, out)
	if answer := string(out.Bytes()); answer != "$-1\r\n" {
		t.Fatalf("%s: %q", source, answer)
	}
	return float64(limits.Work - budget.Work), float64(limits.Bytes - budget.Bytes)
}

// table is the table of docs/scripts.md: how often a script can repeat an operation at the default
// limits if it does nothing else.
func table(t *testing.T) string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| a script does | so many times | at most, by | work of one |\n|---|---|---|---|")
	for _, c := range can {
		// This is about as much data as the script will have at its end.
		few, more := 10_000, 20_000
		if strings.Contains(c.what, "1,000") || strings.Contains(c.what, "999") || c.what == "coroutines" {
			few, more = 100, 200
		}
		loop := func(n int) (work, bytes float64) {
			return takes(t, fmt.Sprintf("%s for i = 1, %d do %s end", c.setup, n, c.body))
		}
		work1, bytes1 := loop(few)
		work2, bytes2 := loop(more)
		work, bytes := (work2-work1)/float64(more-few), (bytes2-bytes1)/float64(more-few)
		n, by := (float64(script.DefaultLimits.Work)-work1)/work, "`script-max-work-ms`"
		if most := (float64(script.DefaultLimits.Bytes) - bytes1) / bytes; bytes > 0 && most < n {
			n, by = most, "`script-max-memory`"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", c.what, count(n), by, micros(work))
	}
	return b.String()
}

// count is a number rounded down to two digits, with commas.
func count(n float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(n))-1)
	text := fmt.Sprintf("%.0f", math.Floor(n/unit)*unit)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func micros(work float64) string {
	if work < 1000 {
		return fmt.Sprintf("%.2f µs", work/1000)
	}
	return fmt.Sprintf("%.1f µs", work/1000)
}

// docs/scripts.md says how much scripts can do. `make docs` writes it.
func TestDocumentationIsWhatScriptsCanDo(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	const path, head = "../../docs/scripts.md", "| a script does |"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), head)
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal("there is no table")
	}
	golden.Check(t, path, before+table(t)+"\n"+after)
}

// TestBulkScriptsRun: work that Redis does in a moment fits into the default limits.
func TestBulkScriptsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	for _, source := range []string{
		`for i = 1, 100000 do redis.call('SET', 'key:' .. i, 'value:' .. i) end`,
		`for i = 1, 100000 do redis.call('INCR', KEYS[1]) end`,
		`for i = 1, 100000 do redis.call('HSET', KEYS[1], 'field:' .. i, 'value:' .. i) end`,
		`for i = 1, 100000 do redis.call('SADD', KEYS[1], 'member:' .. i) end`,
		`for i = 1, 100000 do redis.call('ZADD', KEYS[1], i, 'member:' .. i) end`,
		`for i = 1, 100000 do redis.call('RPUSH', KEYS[1], i) end for i = 1, 100000 do redis.call('LPOP', KEYS[1]) end`,
		`local x = 0 for i = 1, 1000000 do x = (x * 3 + i) / 2 - x end`,
		`local t = {} for i = 1, 50000 do t[i] = {id = i, name = 'name' .. i} end table.sort(t, function(a, b) return a.id > b.id end)`,
		`local t = {} for i = 1, 100000 do t[#t + 1] = 'text' .. i end redis.call('SET', KEYS[1], table.concat(t, ','))`,
		`for i = 1, 20000 do redis.call('SET', 'key:' .. i, cjson.encode({id = i, tags = {'a', 'b'}})) end`,
	} {
		var p command.Programs
		settings := command.DefaultSettings
		answer, work := evalWork(&p, &settings, source)
		t.Logf("%3d ms of work: %s", work/script.Millisecond, source)
		if answer != "$-1\r\n" {
			t.Errorf("%s: %.200s", source, answer)
		}
	}
}
