package commands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

// stepsKeys fills a key of each type with n elements.
func stepsKeys(r *cmdtest.Runner, n int) {
	for i := 0; i < n; i += 500 {
		lines := map[string][]string{"rpush list": nil, "sadd set": nil, "sadd set2": nil, "zadd zset": nil, "zadd zset2": nil, "hset hash": nil, "geoadd geo": nil}
		for j := i; j < min(i+500, n); j++ {
			lines["rpush list"] = append(lines["rpush list"], fmt.Sprint("e", j))
			lines["sadd set"] = append(lines["sadd set"], fmt.Sprint("e", j))
			lines["sadd set2"] = append(lines["sadd set2"], fmt.Sprint("f", j))
			lines["zadd zset"] = append(lines["zadd zset"], fmt.Sprint(j), fmt.Sprint("e", j))
			lines["zadd zset2"] = append(lines["zadd zset2"], fmt.Sprint(j), fmt.Sprint("f", j))
			lines["hset hash"] = append(lines["hset hash"], fmt.Sprint("e", j), fmt.Sprint(j))
			lines["geoadd geo"] = append(lines["geoadd geo"], fmt.Sprint(float64(j%360-180)/2), fmt.Sprint(float64(j%170-85)/2), fmt.Sprint("e", j))
			r.Do(fmt.Sprintf("xadd stream %d-1 f v", j+1))
		}
		for command, args := range lines {
			if got := r.Do(command + " " + strings.Join(args, " ")); got[0] == '-' {
				r.T.Fatalf("%s: %s", command, got)
			}
		}
	}
	r.Do("xgroup create stream g 0")
	r.Do("set string " + strings.Repeat("x", 64*n))
	r.Do("set {t}string " + strings.Repeat("x", 64*n))
	r.Do(again("rpush {t}same", "ing", n))
}

// again is a command that names the same key several times.
func again(command, key string, times int) string { return command + strings.Repeat(" "+key, times) }

// TestStepsOfATxnAreBounded: a command that goes over whole values again and again is refused
// beyond txn-max-work-ms and has changed nothing. The same command over each value once succeeds.
func TestStepsOfATxnAreBounded(t *testing.T) {
	const n = 1000
	for _, test := range []struct{ once, often string }{
		{"zunionstore d 2 zset zset2", again("zunionstore d 20", "zset", 20)},
		{"zinterstore d 2 zset zset2", again("zinterstore d 20", "zset", 20)},
		{"zdiffstore d 2 zset zset2", again("zdiffstore d 20 zset", "zset2", 19)},
		{"zinter 2 zset zset2", again("zinter 20", "zset", 20)},
		{"zintercard 2 zset zset2", again("zintercard 20", "zset", 20)},
		{"sinterstore d set set2", ""}, {"sunionstore d set set2", ""}, {"sdiffstore d set set2", ""}, {"sintercard 2 set set2", ""},
		{"sunion set set2", ""}, {"sdiff set set2", ""}, {"sinter set set2", ""},
		{"sort list alpha store d", ""}, {"sort {t}same by nosort get # store {t}d", "sort {t}same by nosort get {t}str* store {t}d"}, {"sort list alpha limit 0 1", ""}, {"bitcount string", ""}, {"bitpos string 0", ""}, {"bitop not d string", ""},
		{"setrange d 64000 x", ""}, {"setbit e 512000 1", ""}, {"bitfield f set u8 512000 1", ""}, {"lcs string2 string2 len", ""},
		{"copy string d replace", ""}, {"lpos list nosuch", ""}, {"lrem list 0 nosuch", ""}, {"linsert list before nosuch x", ""},
		{"geosearch geo fromlonlat 0 0 byradius 22000 km count 1", ""}, {"geosearchstore d geo fromlonlat 0 0 byradius 22000 km", ""},
		{"zrangestore d zset 0 -1", ""}, {"keys nosuch", ""}, {"scan 0 count 4000", ""}, {"sscan set 0 count 4000", ""}, {"hscan hash 0 count 4000", ""}, {"zscan zset 0 count 4000", ""},
		{"pfcount hll hll2", ""}, {"pfmerge hll hll2", ""},
	} {
		t.Run(strings.Fields(test.once)[0], func(t *testing.T) {
			r := cmdtest.NewRunner(t)
			stepsKeys(r, n)
			r.Do("set string2 " + strings.Repeat("x", 253))
			r.Do("pfadd hll a")
			r.Do("pfadd hll2 a")
			r.StepsMax = 10 * n
			if got := r.Do(test.once); got[0] == '-' {
				t.Fatalf("once: %.100s", got)
			}
			r.Do("del d e f")
			r.Do("set d old")
			// The budget is one, as in a transaction.
			before := r.Do("lockstep.digest")
			often, limit := test.often, r.StepsMax
			if often == "" {
				often, r.StepsMax = test.once, 2
			}
			if got := r.Do(often); got != "-"+command.ErrWork {
				t.Errorf("often: %.100s", got)
			}
			if after := r.Do("lockstep.digest"); after != before {
				t.Error("it was refused and changed something")
			}
			r.StepsMax = limit
		})
	}
}

// Steps add up over a transaction. Once the bound is exceeded every further step is refused.
func TestStepsAddUp(t *testing.T) {
	r := cmdtest.NewRunner(t)
	c := command.Ctx{Out: &r.Out, Meter: command.Meter{Settings: &r.Settings, Bound: 100 * command.WorkStep}}
	for i, want := range []bool{true, true, false, false, true} {
		if got := c.Steps([]int64{60, 40, 1, 1 << 62, 0}[i]); got != want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// quick are commands that run on the applying goroutine although their values are large. Each must
// take only a moment, or it would hold up the log.
var quick = []string{
	"lpop list", "rpop list", "lindex list 100000", "lset list 100000 x", "llen list", "lpush list x", "lmove list list left right", "rpoplpush list list",
	"sadd set x", "srem set x", "sismember set e5", "smove set set2 e5", "spop set", "srandmember set", "scard set",
	"zadd zset 5 x", "zincrby zset 1 e5", "zrem zset e5", "zscore zset e6", "zrank zset e6", "zrevrank zset e6", "zcount zset -inf +inf", "zlexcount zset - +",
	"zpopmin zset", "zpopmax zset", "zrandmember zset", "hset hash x y", "hget hash e5", "hdel hash e5", "hincrby hash e6 1", "hlen hash", "hexpire hash 100 fields 1 e7",
	"xadd stream 999999999-1 f v", "xadd stream maxlen 100 999999999-2 f v", "xlen stream", "xdel stream 100-1", "xack stream g 5-1", "xinfo help", "xsetid stream 9999999999-1",
	"geopos geo e5", "geodist geo e5 e6", "append string x", "getbit string 100", "setbit string 100 1", "strlen string", "type zset", "object encoding zset",
	"rename zset zset3", "renamenx hash hash3", "move set 1", "expire list 100", "persist list", "swapdb 0 1", "swapdb 0 1", "touch zset3", "exists zset3",
	"del zset3", "unlink hash3", "del string", "set stream x", "set list x", "incr counter", "del geo zset2 set2",
}

// TestWhatIsNotHeavyIsQuick: the commands in quick do not run on workers, and take only a moment on
// values of many elements.
func TestWhatIsNotHeavyIsQuick(t *testing.T) {
	const n, momentMax = 150_000, 10 * time.Millisecond
	if testing.Short() {
		t.Skip("-short: large values")
	}
	took := map[string]time.Duration{}
	slow := func() (lines []string) {
		for _, line := range quick {
			if took[line] > momentMax {
				lines = append(lines, line)
			}
		}
		return lines
	}
	for round := range 5 { // a machine that is busy is not slow five times
		if round > 0 && len(slow()) == 0 {
			break
		}
		r := cmdtest.NewRunner(t)
		stepsKeys(r, n)
		r.StepsMax = 0
		for _, line := range quick {
			args := cmdtest.Words(line)
			spec, _ := commands.Lookup(args)
			if spec.TakesLong(args) {
				t.Errorf("%s runs on a worker", line)
			}
			begin := time.Now()
			if got := r.Do(line); got[0] == '-' {
				t.Fatalf("%s: %s", line, got)
			}
			if now := time.Since(begin); round == 0 || now < took[line] {
				took[line] = now
			}
		}
		if round == 0 {
			t.Logf("values of %d elements", n)
		}
	}
	for _, line := range slow() {
		t.Errorf("%s takes %v", line, took[line])
	}
}
