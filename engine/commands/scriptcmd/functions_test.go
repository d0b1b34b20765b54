package scriptcmd_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/rdb"
	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

// libraryText is a library whose functions return their names.
func libraryText(name string, functions ...string) string {
	s := "#!lua name=" + name + "\n"
	for _, f := range functions {
		s += fmt.Sprintf("redis.register_function{function_name='%s', callback=function(keys, args) return {'%s', keys, args} end, flags={'no-writes'}}\n", f, f)
	}
	return s
}

func payloadOfLibraries(texts ...string) string {
	var list [][]byte
	for _, t := range texts {
		list = append(list, []byte(t))
	}
	return string(rdb.AppendFunctions(nil, list))
}

// TestFunctionCommandsAnswerAsRedis runs commands in Lockstep and in redis-server, in both
// protocols, and compares the bytes.
func TestFunctionCommandsAnswerAsRedis(t *testing.T) {
	o := cmdtest.StartOracle(t)
	a, b := libraryText("a", "f"), libraryText("b", "g")
	described := "#!lua name=d\nredis.register_function{function_name='h', callback=function() end, description='does h', flags={'allow-oom', 'no-writes', 'no-cluster'}}"
	writes := "#!lua name=w\nredis.register_function('w', function(keys) return redis.call('set', keys[1], 'v') end)"
	commands := [][]string{
		{"function", "list"}, {"function", "stats"}, {"function", "dump"}, {"function", "kill"}, {"fcall", "f", "0"}, {"function", "flush"},
		{"function", "load", a}, {"function", "load", a}, {"function", "load", "replace", a}, {"function", "load", "REPLACE", "replace", a},
		{"function", "load", "x", a}, {"function", "load", "replace"}, {"function", "load", libraryText("b", "F")}, {"function", "load", "x="},
		{"function", "load", "#!lua name=n\n"}, {"function", "load", "#!lua name=n\nx="}, {"function", "load", "#!lua name=n\nx=1"},
		{"function", "list"}, {"function", "list", "withcode"}, {"function", "list", "libraryname", "a"}, {"function", "list", "LIBRARYNAME", "A*", "WITHCODE"},
		{"function", "list", "libraryname", "b*"}, {"function", "list", "libraryname"}, {"function", "list", "x"}, {"function", "list", "withcode", "withcode"},
		{"function", "list", "libraryname", "a", "libraryname", "b"}, {"function", "stats"}, {"function", "dump"},
		{"fcall", "f", "0"}, {"fcall", "F", "2", "k1", "k2", "x"}, {"fcall", "f", "x"}, {"fcall", "f", "-1"}, {"fcall", "f", "2", "k"}, {"fcall", "none", "x"},
		{"fcall", "f", " 1", "k"}, {"fcall", "f", "9223372036854775808"}, {"fcall", "f", "1.0", "k"}, {"fcall_ro", "f", "1", "k"}, {"fcall_ro", "none", "0"},
		{"function", "delete", "b"}, {"function", "delete", "A"}, {"function", "delete", "a"}, {"fcall", "f", "0"}, {"function", "list"},
		{"function", "load", described}, {"function", "list", "withcode"}, {"fcall", "h", "0"}, {"function", "flush", "x"}, {"function", "flush", "async"},
		{"function", "load", writes}, {"fcall", "w", "1", "k"}, {"fcall_ro", "w", "1", "k"}, {"fcall_ro", "w", "x"}, {"function", "list"}, {"get", "k"},
		{"function", "flush", "SYNC"}, {"function", "list"}, {"function", "flush", "sync", "x"},
		{"function", "restore", "x"}, {"function", "restore", "x", "FOO"}, {"function", "restore", "x", "flush", "y"},
		{"function", "restore", payloadOfLibraries()}, {"function", "restore", payloadOfLibraries(a)}, {"function", "restore", payloadOfLibraries(a)},
		{"function", "restore", payloadOfLibraries(a), "append"}, {"function", "restore", payloadOfLibraries(a), "replace"}, {"function", "list"},
		{"function", "restore", payloadOfLibraries(libraryText("b", "F"), libraryText("c", "c")), "replace"}, {"function", "list"},
		{"function", "restore", payloadOfLibraries(libraryText("b", "F")), "flush"}, {"function", "list"},
		{"function", "restore", payloadOfLibraries(b, libraryText("c", "G")), "flush"}, {"function", "restore", payloadOfLibraries(a, a), "flush"},
		{"function", "restore", payloadOfLibraries("x="), "flush"}, {"function", "restore", payloadOfLibraries("#!lua name=n\nx="), "flush"},
		{"function", "restore", string(rdb.AppendFooter([]byte("\x00\x01a"), 0)), "flush"}, {"function", "restore", string(rdb.AppendFooter([]byte("\xf7"), 0))},
		{"function", "restore", string(rdb.AppendFooter([]byte("\xf5"), 0))}, {"function", "list"}, {"fcall", "f", "0"},
		{"function"}, {"function", "none"}, {"function", "list", "withcode", "libraryname", "b", "x"}, {"function", "dump", "x"}, {"function", "stats", "x"},
		{"function", "delete"}, {"fcall", "f"}, {"fcall_ro"}, {"function", "flush"},
	}
	for _, proto := range []int{reply.RESP2, reply.RESP3} {
		r := cmdtest.NewRunner(t)
		r.Proto = proto
		o.Do(fmt.Sprint("hello ", proto))
		o.Do("flushall")
		for _, c := range commands {
			var args [][]byte
			for _, w := range c {
				args = append(args, []byte(w))
			}
			if got, want := r.Exec(args...), o.Exec(args...); !bytes.Equal(got, want) {
				t.Errorf("RESP%d %.200q\n got %q\nwant %q", proto, c, got, want)
			}
		}
	}
}

// TestLibrariesGoBothWays restores here what redis-server dumps, compressed or not, and restores in
// redis-server what Lockstep dumps.
func TestLibrariesGoBothWays(t *testing.T) {
	o := cmdtest.StartOracle(t)
	var texts []string
	for i := range 20 {
		texts = append(texts, libraryText(fmt.Sprint("lib", i), fmt.Sprint("f", i), fmt.Sprint("g", i))+strings.Repeat("-- a comment\n", i*20))
	}
	for _, compression := range []string{"yes", "no"} {
		r := cmdtest.NewRunner(t)
		o.Do("config set rdbcompression " + compression)
		o.Do("function flush")
		for _, text := range texts {
			if got := cmdtest.Flat(o.Exec([]byte("function"), []byte("load"), []byte(text))); got[0] != '$' {
				t.Fatal(got)
			}
		}
		payload := cmdtest.Bulk(t, o.Exec([]byte("function"), []byte("dump")))
		if got := cmdtest.Flat(r.Exec([]byte("function"), []byte("restore"), payload)); got != "+OK" {
			t.Fatalf("compression %s: %s", compression, got)
		}
		if libraries, functions, _ := r.Programs.Functions.Count(); libraries != 20 || functions != 40 {
			t.Fatalf("%d libraries, %d functions", libraries, functions)
		}
		ours := cmdtest.Bulk(t, r.Exec([]byte("function"), []byte("dump")))
		if got := cmdtest.Flat(o.Exec([]byte("function"), []byte("restore"), ours, []byte("flush"))); got != "+OK" {
			t.Fatalf("redis-server refuses our payload: %s", got)
		}
		for i := range texts {
			call := fmt.Sprintf("fcall g%d 1 k a", i)
			if got, want := r.Do(call), o.Do(call); got != want || !strings.Contains(got, fmt.Sprint("g", i)) {
				t.Errorf("%s: got %s, want %s", call, got, want)
			}
		}
	}
}

// TestFunctionLocks: a call locks what its function's flags say, and everything while the flags are
// not known.
func TestFunctionLocks(t *testing.T) {
	r := cmdtest.NewRunner(t)
	load := func(flags string) {
		text := "#!lua name=l\nredis.register_function{function_name='f', callback=function() return 1 end, flags={" + flags + "}}"
		if got := cmdtest.Flat(r.Exec([]byte("function"), []byte("load"), []byte("replace"), []byte(text))); got != "$1 l" {
			t.Fatal(got)
		}
	}
	plan := func(p command.Planning, line string) string {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		p.Programs, p.Settings = &r.Programs, &r.Settings
		plan := spec.Plan(&p, args)
		return fmt.Sprint([]string{"nothing", "keys", "global"}[plan.Access], map[bool]string{true: " shared"}[plan.Shared], map[bool]string{true: " writes"}[plan.Writes])
	}
	logged, read, exec := command.Planning{Logged: true}, command.Planning{}, command.Planning{Logged: true, InExec: true}
	for _, c := range []struct{ flags, line, logged, read string }{
		{"", "fcall f 1 k", "global writes", "global writes"},
		{"", "fcall_ro f 1 k", "global shared", "global shared"},
		{"'no-writes'", "fcall f 1 k", "global shared writes", "global shared"},
		{"'allow-key-locking'", "fcall f 1 k", "keys writes", "keys writes"},
		{"'allow-key-locking'", "fcall_ro f 1 k", "keys shared", "keys shared"},
		{"'allow-key-locking', 'no-writes'", "fcall f 1 k", "keys shared writes", "keys shared"},
		{"'allow-key-locking', 'no-writes'", "fcall_ro f 1 k", "keys shared", "keys shared"},
		{"'allow-key-locking'", "fcall none 1 k", "nothing", "nothing"},
		{"'allow-key-locking'", "fcall f 2 k", "nothing", "nothing"},
	} {
		load(c.flags)
		if got := plan(logged, c.line); got != c.logged {
			t.Errorf("{%s} %s in the log: %s, want %s", c.flags, c.line, got, c.logged)
		}
		if got := plan(read, c.line); got != c.read {
			t.Errorf("{%s} %s as a read: %s, want %s", c.flags, c.line, got, c.read)
		}
		want := "global writes"
		if strings.HasPrefix(c.line, "fcall_ro") {
			want = "global"
		}
		if got := plan(exec, c.line); got != want {
			t.Errorf("{%s} %s in a transaction: %s", c.flags, c.line, got)
		}
		r.Programs.Functions.Announce()
		if got := plan(logged, c.line); got != want {
			t.Errorf("{%s} %s behind an open change: %s", c.flags, c.line, got)
		}
		r.Programs.Functions.Settle()
	}
}

// TestAReadIsPlannedAgainAfterAChange: a plan is out of date when its function is gone.
func TestAReadIsPlannedAgainAfterAChange(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Exec([]byte("function"), []byte("load"), []byte(libraryText("a", "f")))
	args := cmdtest.Words("fcall f 0")
	spec, _ := commands.Lookup(args)
	plan := spec.Plan(&command.Planning{Programs: &r.Programs, Settings: &r.Settings}, args)
	if plan.OutOfDate(&r.Programs) {
		t.Error("nothing has changed")
	}
	r.Programs.Functions.Flush(9)
	if !plan.OutOfDate(&r.Programs) {
		t.Error("the library is gone, and the plan still good")
	}
}

// TestKeysOfFunctionsMustBeDeclared: with the flag allow-key-locking, a function may use declared
// keys only, by call and pcall, computed or not.
func TestKeysOfFunctionsMustBeDeclared(t *testing.T) {
	r := cmdtest.NewRunner(t)
	text := "#!lua name=l\n"
	for name, body := range map[string]string{
		"declared": `return redis.call('set', keys[1], 1)`, "computed": `return redis.call('set', 'k' .. 1, 1)`,
		"other": `return redis.call('set', 'other', 1)`, "caught": `return redis.pcall('set', args[1], 1)`, "whole": `return redis.call('flushall')`,
	} {
		text += "redis.register_function{function_name='" + name + "', callback=function(keys, args) " + body + " end, flags={'allow-key-locking'}}\n"
	}
	if got := cmdtest.Flat(r.Exec([]byte("function"), []byte("load"), []byte(text))); got != "$1 l" {
		t.Fatal(got)
	}
	const dynamic = "-ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set. Key was: other"
	for name, want := range map[string]string{
		"declared": "+OK", "computed": "+OK", "other": dynamic, "caught": dynamic, "whole": "-ERR This Redis command is not allowed from script",
	} {
		if got := r.Do("fcall " + name + " 1 k1 other"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := r.Do("exists other"); got != ":0" {
		t.Error("the other key was written")
	}
}

// TestFunctionsWithoutMemory answers as redis-server does beyond its maxmemory: a function that may
// need memory is refused, before it begins or at the command that needs memory.
func TestFunctionsWithoutMemory(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	text := "#!lua name=l\n"
	for i, f := range []struct{ flags, body string }{
		{"", "return 1"}, {"'no-writes'", "return redis.call('get', keys[1])"}, {"'allow-oom'", "return redis.call('set', keys[1], 1)"},
		{"'allow-oom'", "return redis.call('del', keys[1])"}, {"'allow-oom', 'no-writes'", "return 1"},
	} {
		text += fmt.Sprintf("redis.register_function{function_name='f%d', callback=function(keys) %s end, flags={%s}}\n", i, f.body, f.flags)
	}
	load := [][]byte{[]byte("function"), []byte("load"), []byte(text)}
	if got, want := cmdtest.Flat(r.Exec(load...)), cmdtest.Flat(o.Exec(load...)); got != want || got != "$1 l" {
		t.Fatalf("%s and %s", got, want)
	}
	r.MemoryFull = true
	o.Do("config set maxmemory 1")
	for _, line := range []string{"fcall f0 1 k", "fcall f1 1 k", "fcall f2 1 k", "fcall f3 1 k", "fcall f4 1 k", "fcall_ro f1 1 k", "fcall_ro f4 0"} {
		if got, want := r.Do(line), o.Do(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestFunctionsAreBounded: the replicated limits bound the libraries.
func TestFunctionsAreBounded(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Settings.FunctionLibrariesMax, r.Settings.FunctionsMax, r.Settings.FunctionBytesMax = 2, 3, 1000
	for _, c := range []struct{ text, want string }{
		{libraryText("a", "a1", "a2"), "$1 a"}, {libraryText("b", "b1", "b2"), "-ERR there are more than 3 functions (function-max-functions)"},
		{libraryText("b", "b1") + strings.Repeat(" ", 1000), "-ERR the libraries are longer than 1000 bytes together (function-max-bytes)"},
		{libraryText("b", "b1"), "$1 b"}, {libraryText("c", "c1"), "-ERR there are more than 2 libraries (function-max-libraries)"},
	} {
		if got := cmdtest.Flat(r.Exec([]byte("function"), []byte("load"), []byte(c.text))); got != c.want {
			t.Errorf("%.60q: %s, want %s", c.text, got, c.want)
		}
	}
	if names := r.Programs.Functions.Libraries(); len(names) != 2 {
		t.Errorf("%d libraries are left", len(names))
	}
}
