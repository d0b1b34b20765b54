package script_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// call calls a function of a library and returns the bytes of its reply.
func call(t testing.TB, e *script.Interpreters, h *scriptcmd.Host, proto int, limits *script.Limits, l *script.Library, name string, keys, args []string) []byte {
	t.Helper()
	for _, f := range l.Functions {
		if f.Name != name {
			continue
		}
		out := reply.NewWriter(proto)
		h.ReadOnly = f.Flags&script.NoWrites != 0
		h.KeyLocking = f.Flags&script.AllowKeyLocking != 0
		h.Keys = byteList(keys)
		e.Call(f, &script.Run{Keys: byteList(keys), Args: byteList(args), Host: h, Limits: limits}, out)
		return bytes.Clone(out.Bytes())
	}
	return []byte("-ERR Function not found\r\n")
}

func library(t testing.TB, body string) *script.Library {
	t.Helper()
	l, err := script.CompileLibrary([]byte("#!lua name=lib\n"+body), &script.FunctionLimits{SourceBytes: 1 << 20})
	if err != nil {
		t.Fatalf("%s\n%v", body, err)
	}
	return l
}

// TestLibrariesLoadAndAnswerAsInRedis loads libraries on both sides and calls the function f of
// each twice.
func TestLibrariesLoadAndAnswerAsInRedis(t *testing.T) {
	loaded := 0
	compareCorpus(t, "testdata/libraries.txt", func(o redisServer, e *script.Interpreters, h *scriptcmd.Host, proto int, source string) (want, got []byte) {
		o.exec("FUNCTION", "FLUSH")
		want = o.exec("FUNCTION", "LOAD", source)
		out := reply.NewWriter(proto)
		l, err := script.CompileLibrary([]byte(source), &script.FunctionLimits{SourceBytes: 1 << 20})
		if err != nil {
			out.Error(err.Error())
			return want, out.Bytes()
		}
		out.BulkString(l.Name)
		loaded++
		got = out.Bytes()
		for range 2 {
			want = append(want, o.exec("FCALL", "f", "2", "k1", "k2", "a1", "a2")...)
			got = append(got, call(t, e, h, proto, &script.DefaultLimits, l, "f", []string{"k1", "k2"}, []string{"a1", "a2"})...)
		}
		return want, got
	})
	if loaded == 0 {
		t.Error("no library could be loaded")
	}
}

// TestNoCallSeesAnotherOne: whatever a function does to the values of its library, the next call
// finds the library as it was loaded.
func TestNoCallSeesAnotherOne(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`local n = 0 redis.register_function('f', function() n = n + 1 return n end)`, ":1"},
		{`local n = 0 local function up() n = n + 1 end redis.register_function('f', function() up() up() return n end)`, ":2"},
		{`local n = 0 redis.register_function('f', function() local g = function() n = n + 1 end g() return n end)`, ":1"},
		{`local n = 0 redis.register_function('f', function() local g = function() return function() n = n + 1 end end g()() return n end)`, ":1"},
		{`local function counter() local n = 0 return function() n = n + 1 return n end end redis.register_function('f', counter())`, ":1"},
		{`local function counter() local n = 0 return {up = function() n = n + 1 return n end} end local c = counter() redis.register_function('f', function() return c.up() end)`, ":1"},
		{`local next = ('abc'):gmatch('.') redis.register_function('f', function() return next() end)`, "$1\r\na"},
		{`local t = {next = ('abc'):gfind('.')} redis.register_function('f', function() t.next() return t.next() end)`, "$1\r\nb"},
		{`redis.register_function('f', ('abc'):gmatch('.'))`, "$1\r\na"},
		{`local t = {} redis.register_function('f', function() t[#t+1] = 1 return #t end)`, ":1"},
		{`local t = {} redis.register_function('f', function() t.n = (t.n or 0) + 1 return t.n end)`, ":1"},
		{`local t = {a = {b = {}}} redis.register_function('f', function() local b = t.a.b b.n = (b.n or 0) + 1 return b.n end)`, ":1"},
		{`local t = {n = 0} redis.register_function('f', function() rawset(t, 'n', rawget(t, 'n') + 1) return t.n end)`, ":1"},
		{`local t = {3, 1, 2} redis.register_function('f', function() local was = t[1] table.sort(t) return was end)`, ":3"},
		{`local t = {5} redis.register_function('f', function() return table.remove(t) end)`, ":5"},
		{`local t = {} redis.register_function('f', function() table.insert(t, 1) return #t end)`, ":1"},
		{`local t = {} redis.register_function('f', function() local was = getmetatable(t) setmetatable(t, {}) return was == nil and 1 or 0 end)`, ":1"},
		{`local t = {} function t.g() return 1 end redis.register_function('f', function() local was = t.g() function t.g() return 2 end return was end)`, ":1"},
		{`local k = {} local t = {[k] = 1} redis.register_function('f', function() for x in pairs(t) do x.n = (x.n or 0) + 1 return x.n end end)`, ":1"},
		{`local t = {n = 0} redis.register_function('f', function() pcall(function() t.n = t.n + 1 error('x') end) return t.n end)`, ":1"},
		{`local t = {n = 0} redis.register_function('f', function() local co = coroutine.wrap(function() t.n = t.n + 1 end) co() return t.n end)`, ":1"},
		{`local t = {n = 0} local g = function() return t end redis.register_function('f', function() g().n = g().n + 1 return g().n end)`, ":1"},
	} {
		l := library(t, c.body+` redis.register_function('bad', function() error('x') end)`)
		var e script.Interpreters
		h := newHost()
		for i := range 4 {
			if got := call(t, &e, h, reply.RESP2, &small, l, "f", nil, nil); string(got) != c.want+"\r\n" {
				t.Errorf("%s\ncall %d: got %q, want %q", c.body, i+1, got, c.want)
			}
			if i == 2 {
				call(t, &e, h, reply.RESP2, &small, l, "bad", nil, nil)
			}
		}
	}
}

// TestLoadingIsNotChargedToCalls: it must not be visible whether an interpreter has the library
// loaded, whatever the budget.
func TestLoadingIsNotChargedToCalls(t *testing.T) {
	l := library(t, `local t = {} for i = 1, 1000 do t[i] = i end
		redis.register_function('f', function() local n = 0 while true do n = n + t[n % 1000 + 1] redis.call('incr', 'n') end end)`)
	limits := small
	limits.Work = script.Millisecond / 2
	count := func(e *script.Interpreters) string {
		h := newHost()
		got := call(t, e, h, reply.RESP2, &limits, l, "f", nil, nil)
		if !strings.Contains(string(got), "script-max-work-ms") {
			t.Fatalf("%q", got)
		}
		var w reply.Writer
		h.Call(byteList([]string{"get", "n"}), script.Millisecond, 100, &w)
		return string(w.Bytes())
	}
	var used script.Interpreters
	g := library(t, `redis.register_function('g', function() return 1 end)`)
	fresh := count(&script.Interpreters{})
	for range 3 {
		// A run that ends with an error takes its interpreter with it: have one ready.
		call(t, &used, newHost(), reply.RESP2, &small, g, "g", nil, nil)
		if got := count(&used); got != fresh {
			t.Errorf("%q commands on an interpreter that was used, %q on a fresh one", got, fresh)
		}
	}
}

// TestHostileLibrariesEndWithAnError: loading each of them ends with an error that says why.
func TestHostileLibrariesEndWithAnError(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"endless loop", `while true do end`, "FUNCTION LOAD timeout"},
		{"endless loop of calls", `local function f() end while true do f() end`, "FUNCTION LOAD timeout"},
		{"recursion", `local function f() return 1 + f() end f()`, "stack overflow"},
		{"endless tail calls", `local function f() return f() end f()`, "FUNCTION LOAD timeout"},
		{"too many functions", `for i = 1, 100000 do redis.register_function('f' .. i, function() end) end`, "at most 1024 functions"},
		{"concatenation", `local s = 'x' while true do s = s .. s end`, "may allocate"},
		{"repetition", `local s = ('x'):rep(1e9)`, "may allocate"},
		{"tables", `local t = {} while true do t = {t} end`, "FUNCTION LOAD timeout"},
		{"sparse table", `local t = {} for i = 1, 1e7 do t[i * 1000] = i end`, "FUNCTION LOAD timeout"},
		{"long description", `redis.register_function{function_name = 'f', callback = function() end, description = ('x'):rep(5e6)}`, "may allocate"},
		{"pattern", `local s = ('a'):rep(30) s:find(('a*'):rep(9) .. 'b')`, "FUNCTION LOAD timeout"},
		{"depth", strings.Repeat("do ", 1000) + strings.Repeat(" end", 1000), "syntax levels"},
		{"register inside a call", `local r = redis.register_function redis.register_function('f', function() r('g', function() end) end)`, ""},
	} {
		_, err := script.CompileLibrary([]byte("#!lua name=lib\n"+c.body), &script.FunctionLimits{SourceBytes: 1 << 20})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	if _, err := script.CompileLibrary([]byte("#!lua name=lib\n"+strings.Repeat(" ", 100)), &script.FunctionLimits{SourceBytes: 50}); err == nil {
		t.Error("a library that is too long is loaded")
	}
}

func BenchmarkFunctionOfTwoCalls(b *testing.B) {
	for name, body := range map[string]string{
		"stateless": `local limit = 5 redis.register_function('f', function(keys) local n = redis.call('incr', keys[1]) if n > limit then redis.call('set', keys[1], 0) end return n end)`,
		"stateful":  `local n redis.register_function('f', function(keys) n = redis.call('incr', keys[1]) if n > 5 then redis.call('set', keys[1], 0) end return n end)`,
	} {
		b.Run(name, func(b *testing.B) {
			f := library(b, body).Functions[0]
			var e script.Interpreters
			var w reply.Writer
			r := &script.Run{Keys: byteList([]string{"k"}), Host: newHost(), Limits: &script.DefaultLimits}
			b.ReportAllocs()
			for b.Loop() {
				w.Reset(reply.RESP2)
				e.Call(f, r, &w)
			}
		})
	}
}

// TestLibrariesLoadWhateverTheDepth: a library that could be loaded once is loaded for calls. The
// limit on nested calls applies only to the calls.
func TestLibrariesLoadWhateverTheDepth(t *testing.T) {
	l, err := script.CompileLibrary([]byte("#!lua name=lib\n"+`local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end
	local deep = f(3000)
	redis.register_function('f', function(keys, args) return {deep, tostring(coroutine.running()), f(tonumber(args[1]))} end)`), &script.FunctionLimits{SourceBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var e script.Interpreters
	for _, depth := range []int{4000, 200, 20000, 200, 4000} {
		limits := script.DefaultLimits
		limits.CallDepth = depth
		for _, levels := range []int{depth - 20, depth + 20} {
			got := string(call(t, &e, newHost(), reply.RESP2, &limits, l, "f", nil, []string{strconv.Itoa(levels)}))
			want := fmt.Sprintf("*3\r\n:3000\r\n$3\r\nnil\r\n:%d\r\n", levels)
			if levels > depth {
				want = fmt.Sprintf("-ERR user_function:2: stack overflow (script-max-call-depth %d) script: f, on @user_function:2.\r\n", depth)
			}
			if got != want {
				t.Errorf("%d of %d: %q, want %q", levels, depth, got, want)
			}
		}
	}
}
