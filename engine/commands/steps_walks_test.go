package commands_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

// walkedKeys makes keys that the commands below walk over with little or no answer.
func walkedKeys(r *cmdtest.Runner) {
	const n = 2000
	for i := range n {
		r.Do(fmt.Sprintf("xadd stream %d-1 f v", i+1))
	}
	r.Do("xgroup create stream g 0")
	r.Do("xreadgroup group g c streams stream >")
	for i := range 100 {
		r.Do(fmt.Sprint("xgroup createconsumer stream g c", i))
	}
	text := strings.Repeat("a", 2000)
	for _, command := range []string{"set " + text + " v", "sadd set " + text, "hset hash " + text + " v", "zadd zset 1 " + text} {
		r.Do(command)
	}
	for i := range n {
		r.Do(fmt.Sprintf("hset gone f%d v", i))
		r.Do(fmt.Sprintf("hpexpireat gone %d fields 1 f%d", r.NowMs+1000, i))
	}
	r.Do("hset gone stays v")
	r.Do("set sparse HYLL\x01" + strings.Repeat("\x00", 10_000))
	r.Do("pfmerge hll")
	r.Do("set {t}long " + strings.Repeat("x", 2000))
	r.Do(again("rpush {t}same", "long", 200))
	r.Do("rpush {t}texts " + strings.Repeat("x", 9000) + " " + strings.Repeat("y", 9000))
	r.Exec([]byte("function"), []byte("load"), []byte("#!lua name=lib\nfor i = 1, 100 do redis.register_function('f' .. i, function() return 1 end) end"))
}

// walks are commands that walk over much and answer little.
var walks = []string{
	"xpending stream g idle 100000000 - + 10", "xpending stream g idle 100000000 - + 10 c", "xpending stream g",
	"xautoclaim stream g c 100000000 0 count 1000000", "hgetall gone", "hkeys gone", "hvals gone", "hrandfield gone", "hrandfield gone 3",
	"pfadd sparse x", "pfmerge sparse hll", "pfselftest",
	"sort {t}same by {t}* alpha limit 0 1", "sort {t}texts alpha limit 0 1", "sort_ro {t}same by {t}* alpha limit 0 1",
	"sort {t}same by nosort get {t}* store {t}d", "function delete nosuch", "function list libraryname nosuch", "fcall f1 0",
	"keys *" + strings.Repeat("a", 900) + "b", "scan 0 match *" + strings.Repeat("a", 900) + "b",
	"sscan set 0 match *" + strings.Repeat("a", 900) + "b", "hscan hash 0 match *" + strings.Repeat("a", 900) + "b",
	"zscan zset 0 match *" + strings.Repeat("a", 900) + "b",
}

// TestWalksAreCounted: a command that walks over much and answers little is refused beyond
// txn-max-work-ms and has changed nothing.
func TestWalksAreCounted(t *testing.T) {
	for i, line := range walks {
		t.Run(fmt.Sprintf("%d %.30s", i, line), func(t *testing.T) {
			r := cmdtest.NewRunner(t)
			walkedKeys(r)
			r.NowMs += 2000 // fields have expired but are not removed yet
			r.StepsMax = 20
			before := r.Do("lockstep.digest")
			if got := r.Do(line); got != "-"+command.ErrWork {
				t.Errorf("it answers %.100s", got)
			}
			if after := r.Do("lockstep.digest"); after != before {
				t.Error("it was refused and changed something")
			}
			r.StepsMax = 0
			counted := r.Do(line)
			if strings.HasPrefix(counted, "-"+command.ErrWork) {
				t.Error("it is refused with all the steps of a txn")
			}
		})
	}
}

// TestLoadingLibrariesCounts: loading a library may take as many instructions as FUNCTION LOAD
// allows, and a transaction may load tens of thousands of libraries.
func TestLoadingLibrariesCounts(t *testing.T) {
	r := cmdtest.NewRunner(t)
	load := [][]byte{[]byte("function"), []byte("load"), []byte("replace"), []byte("#!lua name=lib\nredis.register_function('f', function() return 1 end)")}
	if got := cmdtest.Flat(r.Exec(load...)); got != "$3 lib" {
		t.Fatal(got)
	}
	dumped := cmdtest.ParseReply(t, r.Exec(cmdtest.Words("function dump")...)).(string)
	r.StepsMax = 400 // less than an interpreter
	if got := cmdtest.Flat(r.Exec(load...)); got != "-"+command.ErrWork {
		t.Error(got)
	}
	r.StepsMax = 2000 // less than loading may take
	for _, body := range []string{"for i = 1, 50000 do end redis.register_function('f', function() return 1 end)", "while true do end"} {
		load[3] = []byte("#!lua name=lib\n" + body)
		if got := cmdtest.Flat(r.Exec(load...)); got != "-"+command.ErrWork {
			t.Errorf("%s: %s", body, got)
		}
	}
	r.StepsMax = 400
	if got := cmdtest.Flat(r.Exec([]byte("function"), []byte("restore"), []byte(dumped), []byte("replace"))); got != "-"+command.ErrWork {
		t.Error(got)
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSortCopiesNoValues: a text that a hundred elements are sorted by exists once in memory. A
// million copies would crash every replica.
func TestSortCopiesNoValues(t *testing.T) {
	const longBytes = 1 << 20
	r := cmdtest.NewRunner(t)
	r.Do("set {t}long " + strings.Repeat("x", longBytes))
	r.Do("hset {t}h f " + strings.Repeat("x", longBytes))
	r.Do(again("rpush {t}list", "long", 50))
	r.Do(again("rpush {t}list2", "h", 50))
	for _, line := range []string{"sort {t}list by {t}* alpha store {t}d", "sort {t}list2 by {t}*->f alpha store {t}d"} {
		if got := allocated(func() { r.Do(line) }); got > 2*longBytes {
			t.Errorf("%s allocates %d KB", line, got>>10)
		}
	}
}

// TestNothingIsGoneOverWithoutSteps: a transaction that has used up its steps is refused before its
// next walk, not after it.
func TestNothingIsGoneOverWithoutSteps(t *testing.T) {
	r := cmdtest.NewRunner(t)
	stepsKeys(r, 5000)
	for i := range 5000 {
		r.Do(fmt.Sprintf("set key%d v", i))
	}
	r.StepsMax = 1
	for _, line := range []string{"keys *", "geosearch geo fromlonlat 0 0 byradius 22000 km"} {
		got := ""
		bytes := allocated(func() { got = r.Do(line) })
		if got != "-"+command.ErrWork {
			t.Fatalf("%s: %.100s", line, got)
		}
		if bytes > 64<<10 {
			t.Errorf("%s allocates %d KB before it is refused", line, bytes>>10)
		}
	}
}

// TestRandomKeyPaysForWhatHasExpired: RANDOMKEY skips keys that are due but not removed yet, and
// each of them counts.
func TestRandomKeyPaysForWhatHasExpired(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.StepsMax = 100
	for i := range 2000 {
		r.Do(fmt.Sprintf("set key%d v pxat %d", i, r.NowMs+1000))
	}
	if got := r.Do("randomkey"); got[0] != '$' {
		t.Fatal(got)
	}
	r.NowMs += 2000
	if got := r.Do("randomkey"); got != "-"+command.ErrWork {
		t.Error(got)
	}
}

// TestSortTellsOfMissesOnce: SORT counts in advance what it would store. That does not count as a
// use of the keys.
func TestSortTellsOfMissesOnce(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("rpush {t}list a b c")
	misses := r.KS.Stats.Misses.Load()
	r.Do("sort {t}list by nosort get {t}nosuch* store {t}d")
	if got := r.KS.Stats.Misses.Load() - misses; got != 3 {
		t.Errorf("%d misses of 3 elements", got)
	}
}

// TestLongTimeoutsAreQuicklyRefused: the timeout of a blocking command is checked before the
// command runs, also if a script calls it.
func TestLongTimeoutsAreQuicklyRefused(t *testing.T) {
	digits := []byte(strings.Repeat("1", 4<<20))
	for _, line := range []string{"blpop k", "blmpop", "bzmpop"} {
		args := cmdtest.Words(line)
		if len(args) == 1 {
			args = append(args, digits, []byte("1"), []byte("k"), []byte("left"))
		} else {
			args = append(args, digits)
		}
		spec, _ := commands.Lookup(args)
		begin := time.Now()
		if _, blocks := command.BlockMs(spec, args); blocks {
			t.Errorf("%s waits", line)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s is looked at for %v", line, took)
		}
	}
	// The handler refuses a long argument, even if it is a number.
	spec, args := commands.Get("blpop"), cmdtest.Words("blpop k "+strings.Repeat("0", 6000)+"2.5")
	if _, blocks := command.BlockMs(spec, args); blocks {
		t.Error("a number of 6000 digits waits")
	}
	if got := cmdtest.NewRunner(t).Do("blpop k " + strings.Repeat("0", 6000) + "2.5"); got != "-"+command.ErrTimeoutNotFloat {
		t.Errorf("a number of 6000 digits: %s", got)
	}
}

// TestScriptsCannotBuyHoursWithTimeouts is the same from a script, which runs on
// every replica.
func TestScriptsCannotBuyHoursWithTimeouts(t *testing.T) {
	r := cmdtest.NewRunner(t)
	begin := time.Now()
	r.Exec([]byte("eval"), []byte("return redis.pcall('blmpop', string.rep('1', 4000000), 1, 'k', 'left')"), []byte("0"))
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it takes %v", took)
	}
}

// TestScriptsOfATxnShareItsSteps: the steps that one script has taken are gone for the next one.
func TestScriptsOfATxnShareItsSteps(t *testing.T) {
	r := cmdtest.NewRunner(t)
	text := strings.Repeat("x", 640)
	r.Do("mset a " + text + " b " + text)
	r.StepsMax = 5000 // one LCS takes 3,200
	args := [][]byte{[]byte("eval"), []byte("return redis.call('lcs', 'a', 'b', 'len')"), []byte("0")}
	spec, _ := commands.Lookup(args)
	c := command.Ctx{KS: r.KS, Out: &r.Out, TxnNo: 9, Logged: true, InExec: true, Commands: commands.Table(), Times: command.Times{NowMs: r.NowMs}, Meter: command.Meter{Settings: &r.Settings, Bound: r.StepsMax * command.WorkStep}, ProgramState: command.ProgramState{Programs: &r.Programs}}
	r.Out.Reset(r.Proto)
	for range 2 {
		plan := spec.Plan(&command.Planning{Programs: &r.Programs, Settings: &r.Settings, Logged: true, InExec: true}, args)
		c.Plan = &plan
		c.Begin(0)
		spec.Run(&c, args)
	}
	if got := cmdtest.Flat(r.Out.Bytes()); !strings.HasPrefix(got, ":640 ") || !strings.Contains(got, command.ErrWork) {
		t.Errorf("%.200s", got)
	}
}

// TestScriptsPayForAWalkOnce: a script pays for the walk of KEYS once, and not again with each
// command after it.
func TestScriptsPayForAWalkOnce(t *testing.T) {
	const source = "for _, k in ipairs(redis.call('keys', '*')) do redis.call('del', k) end return redis.call('dbsize')"
	r := cmdtest.NewRunner(t)
	for i := range 2000 {
		r.Do(fmt.Sprintf("set key:%d 1", i))
	}
	r.Settings.ScriptWorkMaxMs = 8
	if got := cmdtest.Flat(r.Exec([]byte("eval"), []byte(source), []byte("0"))); got != ":0" {
		t.Errorf("%.200s", got)
	}
}
