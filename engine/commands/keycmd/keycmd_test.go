package keycmd_test

import (
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

// TestLifetime follows keys through time, which a comparison with redis-server cannot do.
func TestLifetime(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.NowMs = 1_000_000
	r.Script(`
		SET a 1 EX 100 => +OK
		TTL a => :100
		PTTL a => :100000
		EXPIRETIME a => :1100
		PEXPIRETIME a => :1100000
		SET b 1 => +OK
		TTL b => :-1
		TTL c => :-2
		PEXPIRE b 1500 => :1
		PEXPIRE b 1400 GT => :0
		PEXPIRE b 1600 NX => :0
		PEXPIRE b 1400 LT XX => :1
		PERSIST b => :1
		PERSIST b => :0
		EXPIRE b 10 GT => :0
		EXPIRE b 10 LT => :1
		GETEX b PX 700 => $1 1
		PTTL b => :700
		GETEX b PERSIST => $1 1
		TTL b => :-1
		GETEX b EXAT 5 => $1 1
		EXISTS b => :0
	`)
	r.NowMs += 50_000
	r.Script(`
		TTL a => :50
		INCR a => :2
		TTL a => :50
		APPEND a 5 => :2
		SETRANGE a 1 7 => :2
		INCRBYFLOAT a 0.5 => $4 27.5
		PTTL a => :50000
		SET a 3 KEEPTTL => +OK
		PTTL a => :50000
		RENAME a b => +OK
		PTTL b => :50000
		COPY b c => :1
		PTTL c => :50000
		MOVE c 1 => :1
		GETSET b 1 => $1 3
		TTL b => :-1
		select 1 => +OK
		PTTL c => :50000
	`)
	r.NowMs += 50_000
	r.Script(`
		GET c => $-1
		DBSIZE => :1
		KEYS * => *0
		SCAN 0 => *2 $1 0 *0
		RANDOMKEY => $-1
		lockstep.expire 1 c 1 nokey 0 b => :1
		DBSIZE => :0
		SET c 1 EX 1 => +OK
	`)
	r.NowMs += 2000
	r.Script(`
		SETNX c 2 => :1
		TTL c => :-1
		SET c 1 PX 5 => +OK
	`)
	r.NowMs += 5
	r.Script(`
		EXPIRE c 10 => :0
		DBSIZE => :0
	`)
}

// TestReadsWaitForKeysThatAreDue expects a read on the leader to notice keys that are due by the
// leader's clock, though not yet by the log's.
func TestReadsWaitForKeysThatAreDue(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("SET k v PX 100")
	for _, c := range []struct {
		leaderMs int64
		due      bool
	}{{0, false}, {r.NowMs + 99, false}, {r.NowMs + 100, true}} {
		ctx := command.Ctx{KS: r.KS, Out: &r.Out, Times: command.Times{NowMs: r.NowMs, LeaderMs: c.leaderMs}, Meter: command.Meter{Settings: &r.Settings}}
		ctx.Read([]byte("k"))
		if ctx.Due != c.due {
			t.Errorf("leader's clock at %d: due is %v", c.leaderMs, ctx.Due)
		}
	}
}

// TestTimeGoesOnForReads: a read about time goes by a clock, even if no write moves the log's time
// on. A command in the log goes by the log's time alone.
func TestTimeGoesOnForReads(t *testing.T) {
	r := cmdtest.NewRunner(t)
	for _, line := range []string{"SET k v PX 100000", "HSET h f v", "HPEXPIRE h 100000 FIELDS 1 f", "XGROUP CREATE s g 0 MKSTREAM", "XADD s 1-1 f v", "XREADGROUP GROUP g ann STREAMS s >"} {
		r.Do(line)
	}
	asked := func(line string, leaderMs, replicaMs int64) string {
		r.Out.Reset(0)
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		spec.Run(&command.Ctx{KS: r.KS, Out: &r.Out, Times: command.Times{NowMs: r.NowMs, LeaderMs: leaderMs, ReplicaMs: replicaMs}, Meter: command.Meter{Settings: &r.Settings}}, args)
		return cmdtest.Flat(r.Out.Bytes())
	}
	for line, want := range map[string][2]string{
		"TTL k":                         {":100", ":98"},
		"PTTL k":                        {":100000", ":98000"},
		"HTTL h FIELDS 1 f":             {"*1 :100", "*1 :98"},
		"HPTTL h FIELDS 1 f":            {"*1 :100000", "*1 :98000"},
		"XPENDING s g IDLE 1000 - + 10": {"*0", "*1 *4 $3 1-1 $3 ann :2000 :1"},
		"XINFO CONSUMERS s g":           {"*1 *8 $4 name $3 ann $7 pending :1 $4 idle :0 $8 inactive :0", "*1 *8 $4 name $3 ann $7 pending :1 $4 idle :2000 $8 inactive :2000"},
		"EXPIRETIME k":                  {asked("EXPIRETIME k", 0, 0), asked("EXPIRETIME k", 0, 0)},
	} {
		later := r.NowMs + 2000
		for _, c := range []struct {
			leaderMs, replicaMs int64
			want                string
		}{{0, 0, want[0]}, {r.NowMs - 5000, 0, want[0]}, {later, 0, want[1]}, {0, later, want[1]}} {
			if got := asked(line, c.leaderMs, c.replicaMs); got != c.want {
				t.Errorf("%s, clocks at %+d and %+d: %s, want %s", line, c.leaderMs-r.NowMs, c.replicaMs-r.NowMs, got, c.want)
			}
		}
	}
	if got := asked("PTTL k", 0, r.NowMs+200_000); got != ":0" {
		t.Errorf("on a replica that has not heard of the key's end: %s", got)
	}
}

// TestReadsChangeNothing: a read of an expired key leaves the key, because its slot may be held
// shared.
func TestReadsChangeNothing(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("SET k v PX 100")
	r.NowMs += 1000
	for _, line := range []string{"GET k", "MGET k", "EXISTS k", "TOUCH k", "COPY k l", "OBJECT ENCODING k", "GETEX k", "GETRANGE k 0 1", "LCS k k", "STRLEN k", "TTL k", "TYPE k"} {
		r.Do(line)
		if r.KS.Keys(0) != 1 {
			t.Fatalf("%s deleted the key", line)
		}
	}
}

// TestIdleTime expects OBJECT IDLETIME to follow the clock of uses, and to be the same on all
// replicas within a transaction.
func TestIdleTime(t *testing.T) {
	r := cmdtest.NewRunner(t)
	at := func(sec uint32, logged bool, line string) string {
		r.Out.Reset(0)
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		spec.Run(&command.Ctx{KS: r.KS, Out: &r.Out, Logged: logged, Uses: command.Uses{UseTick: sec * engine.UseTicks}, Meter: command.Meter{Settings: &r.Settings}}, args)
		return cmdtest.Flat(r.Out.Bytes())
	}
	at(100, true, "SET k v")
	for _, c := range []struct {
		sec        uint32
		logged     bool
		line, want string
	}{
		{130, false, "OBJECT IDLETIME k", ":30"},
		{130, true, "OBJECT IDLETIME k", ":0"},
		{140, false, "EXISTS k", ":1"},
		{140, false, "OBJECT IDLETIME k", ":40"},
		{150, false, "TOUCH k", ":1"},
		{160, false, "OBJECT IDLETIME k", ":10"},
		{140, false, "OBJECT IDLETIME k", ":0"},
		{0, false, "OBJECT IDLETIME k", ":0"},
	} {
		if got := at(c.sec, c.logged, c.line); got != c.want {
			t.Errorf("at %d, logged %v: %s gives %s, want %s", c.sec, c.logged, c.line, got, c.want)
		}
	}
}

// TestAppendGrowsInPlace: repeated appends do not copy the string each time.
func TestAppendGrowsInPlace(t *testing.T) {
	r := cmdtest.NewRunner(t)
	append100 := cmdtest.Words("APPEND k 0123456789")
	r.Exec(append100...)
	allocs := testing.AllocsPerRun(2000, func() { r.Exec(append100...) })
	// The runner itself allocates a few times.
	base := testing.AllocsPerRun(100, func() { r.Exec(cmdtest.Words("STRLEN k")[:2]...) })
	if allocs > base+1 {
		t.Errorf("%v allocations for an APPEND, %v for a STRLEN", allocs, base)
	}
}

// TestRefCount compares OBJECT REFCOUNT, which shows the small integers that Redis shares. Redis
// forgets to share those that COPY makes. Here nothing is counted, so such integers look like all
// others.
func TestRefCount(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for _, line := range []string{
		"set k 0", "set k 9999", "set k 10000", "set k -1", "set k 007", "set k x", "append k 1", "setrange n 0 12", "incr i", "mset j 5", "getset j 6", "append new 7",
	} {
		key := string(cmdtest.Words(line)[1])
		for _, line := range []string{line, "object refcount " + key, "object encoding " + key} {
			if got, want := r.Do(line), o.Do(line); got != want {
				t.Errorf("%s: got %s, want %s", line, got, want)
			}
		}
	}
}

func TestKeysAnswerAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	t.Run("RESP2", func(t *testing.T) { cmdtest.Differ(t, reply.RESP2, 3, n, cmdtest.KeyCommands) })
	t.Run("RESP3", func(t *testing.T) { cmdtest.Differ(t, reply.RESP3, 4, n, cmdtest.KeyCommands) })
}
