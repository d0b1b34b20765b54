package script_test

import (
	"bytes"
	"errors"
	"math/rand"
	"strings"
	"sync"
	"testing"

	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// TestRunsDoNotSeeEachOther: an interpreter that has run other scripts, well or badly, answers like
// a fresh one.
func TestRunsDoNotSeeEachOther(t *testing.T) {
	sources := []string{
		`local t = {} for k in pairs(_G) do t[#t+1] = k end return t`,
		`return {tostring({}), tostring(print == nil), 1}`, `return math.random(1000000)`, `math.randomseed(7) return math.random(1000000)`,
		`redis.setresp(3) return redis.call('get', 'nokey')`, `return redis.call('get', 'nokey')`,
		`return {KEYS[1], ARGV[1]}`, `KEYS[1] = 'changed' return KEYS[1]`, `error('x')`, `local function f() f() end return f()`,
		`local function f() return 1 + f() end return f()`, `coroutine.wrap(function() error('in') end)()`,
		`local f = coroutine.wrap(function() coroutine.yield(1) end) f() return tostring(coroutine.running())`,
		`local n = 0 local function f() n = n + 1 return 1 + f() end local ok, e = pcall(f) return {n, e}`,
		`local t = {} for i = 1, 7000 do t[i] = i end local function f(n, ...) if n > 0 then return 1 + f(n - 1, ...) end return 0 end return {pcall(f, 60, unpack(t))}`,
		`local function f(n) if n > 0 then return pcall(f, n - 1) end error('x') end return {f(9)}`,
		`local f pcall(function() local n = 0 f = function() n = n + 1 return n end error('x') end) pcall(error, f()) return {f(), f()}`,
		`return select('#', unpack({}, 1, 7000))`, `local a, b = 1 local f = function() return a, b end a = 2 return {f()}`,
	}
	want := make([][]byte, len(sources))
	for i, s := range sources {
		want[i] = eval(t, &script.Interpreters{}, newHost(), reply.RESP2, &small, s, []string{"k"}, []string{"a"})
	}
	var e script.Interpreters
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			d := rand.New(rand.NewSource(int64(g)))
			for range 500 {
				i := d.Intn(len(sources))
				if got := eval(t, &e, newHost(), reply.RESP2, &small, sources[i], []string{"k"}, []string{"a"}); !bytes.Equal(got, want[i]) {
					t.Errorf("%s\n got %q\nwant %q", sources[i], got, want[i])
				}
			}
		}()
	}
	wg.Wait()
}

// TestABoundIsReachedAtTheSameInstruction: with the same budget a script gets equally far each
// time, however small the budget is. With a greater budget it gets farther.
func TestABoundIsReachedAtTheSameInstruction(t *testing.T) {
	const source = `while true do redis.call('incr', 'n') pcall(function() local s = 'a' .. 'b' end) end`
	last := ""
	for n := int64(20_000); n <= 400_000; n += 20_000 {
		limits := small
		limits.Work = n
		var first string
		for range 3 {
			h := newHost()
			var e script.Interpreters
			got := eval(t, &e, h, reply.RESP2, &limits, source, nil, nil)
			if !strings.Contains(string(got), "script-max-work-ms") {
				t.Fatalf("%q", got)
			}
			var w reply.Writer
			h.Call(byteList([]string{"get", "n"}), script.Millisecond, 1<<30, &w)
			if count := string(w.Bytes()); first == "" {
				first = count
			} else if count != first {
				t.Fatalf("%d units of work: %q and %q", n, first, count)
			}
		}
		if first == last {
			t.Errorf("%d units of work do no more than 20,000 fewer", n)
		}
		last = first
	}
}

func TestARunCanBeStopped(t *testing.T) {
	s, err := script.Compile([]byte(`while true do pcall(function() end) end`), &script.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	var e script.Interpreters
	var w reply.Writer
	e.Run(s, &script.Run{Host: newHost(), Limits: &script.DefaultLimits, Stop: func() error {
		if asked++; asked == 3 {
			return errors.New("killed by the test")
		}
		return nil
	}}, &w)
	if !strings.Contains(string(w.Bytes()), "killed by the test") || asked != 3 {
		t.Errorf("asked %d times: %q", asked, w.Bytes())
	}
}

// TestLongRunsRest: a long script yields the processor in between, and its result is the same.
func TestLongRunsRest(t *testing.T) {
	for _, c := range []struct {
		source string
		least  int
	}{
		{`return 1`, 0},
		{`for i = 1, 5000 do redis.call('incr', KEYS[1]) end return redis.call('get', KEYS[1])`, 5},
		{`local n = 0 for i = 1, 1000000 do n = n + i end return n`, 50},
		{`return coroutine.wrap(function() local n = 0 for i = 1, 1000000 do n = n + i end return n end)()`, 50},
		{`return string.find(string.rep('a', 3000), '.-b')`, 50},
		{`return {pcall(string.find, string.rep('a', 300000), '.-.-.-b')}`, 50},
		{`return #cjson.encode(cjson.decode('[' .. string.rep('1,', 200000) .. '1]'))`, 10},
		{`local t = {} for i = 1, 50000 do t[i] = i % 7 end table.sort(t) return t[1]`, 50},
	} {
		s, err := script.Compile([]byte(c.source), &small)
		if err != nil {
			t.Fatal(err)
		}
		rests, replies := 0, [2]string{}
		for i, rest := range []func(){func() { rests++ }, nil} {
			var e script.Interpreters
			var w reply.Writer
			w.Reset(reply.RESP2)
			e.Run(s, &script.Run{Keys: byteList([]string{"k"}), Host: newHost(), Limits: &small, Rest: rest}, &w)
			replies[i] = string(w.Bytes())
		}
		if rests < c.least || c.least == 0 && rests > 0 || replies[0] != replies[1] {
			t.Errorf("%s: %d rests, not %d; %.100q with rests and %.100q without", c.source, rests, c.least, replies[0], replies[1])
		}
	}
}

// TestRepliesPayForWhatTheyPass: a table in a reply is walked element by element, nils included,
// each time that the reply contains it.
func TestRepliesPayForWhatTheyPass(t *testing.T) {
	s, err := script.Compile([]byte(`local few = {} few[60000] = 1 local m, r = {map = few}, {} for i = 1, 100 do r[i] = m end return r`), &small)
	if err != nil {
		t.Fatal(err)
	}
	limits := small
	limits.Work = 2 * script.Millisecond
	var e script.Interpreters
	var w reply.Writer
	w.Reset(reply.RESP2)
	e.Run(s, &script.Run{Host: newHost(), Limits: &limits}, &w)
	if !bytes.HasPrefix(w.Bytes(), []byte("-ERR the script was ended: it did more than 2 ms of work")) {
		t.Errorf("%.100q", w.Bytes())
	}
}

func BenchmarkTwoCalls(b *testing.B) {
	s, err := script.Compile([]byte(`local n = redis.call('incr', KEYS[1]) if n > 5 then redis.call('set', KEYS[1], 0) end return n`), &script.DefaultLimits)
	if err != nil {
		b.Fatal(err)
	}
	var e script.Interpreters
	var w reply.Writer
	r := &script.Run{Keys: byteList([]string{"k"}), Host: newHost(), Limits: &script.DefaultLimits}
	b.ReportAllocs()
	for b.Loop() {
		w.Reset(reply.RESP2)
		e.Run(s, r, &w)
	}
}
