package script_test

import (
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/reply"
	"lockstep/engine/script"
	"lockstep/tests/scripts/zoo"
)

// evalWork runs EVAL of a script on a keyspace of its own, as a replica does for an entry of the
// log. It returns the reply and the work that was counted.
func evalWork(p *command.Programs, settings *command.Settings, source string) (answer string, work int64) {
	args := byteList([]string{"eval", source, "1", "k"})
	spec, _ := commands.Lookup(args)
	out := reply.NewWriter(reply.RESP2)
	c := command.Ctx{
		KS:           engine.New(engine.Config{LockSlots: 64}),
		Out:          out,
		TxnNo:        1,
		Logged:       true,
		Commands:     commands.Table(),
		Walk:         command.HeldWalker{},
		Times:        command.Times{NowMs: 1_700_000_000_000},
		Meter:        command.Meter{Settings: settings},
		ProgramState: command.ProgramState{Programs: p},
	}
	plan := spec.Plan(&command.Planning{Programs: p, Settings: settings, Logged: true}, args)
	c.Plan = &plan
	c.Begin(0)
	spec.Run(&c, args)
	return string(out.Bytes()), c.Work()
}

// cpuNs is the processor time that the process has used, in nanoseconds.
func cpuNs(t testing.TB) int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

// reference does a little of everything. The prices of other scripts are compared with its price,
// so neither the speed nor the load of the machine matters.
const reference = `local t, n = {}, 0 while true do n = n + 1 t[n % 100 + 1] = n local s = 'k' .. n % 100 if s == 'k0' then t = {} end end`

// priceOf is the time of a unit of work of a script, in nanoseconds of a core.
func priceOf(t testing.TB, source string, ms int64) (ns float64, answer string) {
	settings := command.DefaultSettings
	settings.ScriptWorkMaxMs = ms
	var p command.Programs
	began := cpuNs(t)
	answer, work := evalWork(&p, &settings, source)
	return float64(cpuNs(t)-began) / float64(work), answer
}

// collectAsNodesDo sets the garbage collector as package node does, because collecting is part of
// the cost of allocation.
func collectAsNodesDo(t testing.TB) {
	ballast = make([]byte, 256<<20)
	was := debug.SetGCPercent(25)
	t.Cleanup(func() {
		ballast = nil
		debug.SetGCPercent(was)
	})
}

var ballast []byte

// TestPrices: in every script a unit of work takes about the same time. A price that is too low
// lets a client stop a shard; one that is too high ends harmless scripts.
func TestPrices(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it measures some hundred scripts")
	}
	// The best of several tries counts: the machine may be busy.
	const ms, cheapMax, dearMax, tries = 20, 2.5, 0.005, 12
	collectAsNodesDo(t)
	for _, z := range zoo.Dear {
		best, base, said := 1e9, 1e9, ""
		for range tries {
			ns, _ := priceOf(t, reference, ms/4)
			base = min(base, ns)
			ns, answer := priceOf(t, z.Source, ms)
			if said = answer; ns < best {
				best = ns
			}
			if !strings.Contains(said, zoo.Ended) || best/base < cheapMax {
				break
			}
		}
		switch factor := best / base; {
		case !strings.Contains(said, zoo.Ended):
			t.Errorf("%s: %.200s", z.Name, said)
		case factor > cheapMax || factor < dearMax:
			t.Errorf("%s: a unit of work takes %.2f times as long as one of others", z.Name, factor)
		default:
			t.Logf("%-45s %.2f", z.Name, factor)
		}
	}
}

// BenchmarkPrices runs each kind of expensive script to the default limits.
func BenchmarkPrices(b *testing.B) {
	collectAsNodesDo(b)
	for _, z := range zoo.Dear {
		b.Run(z.Name, func(b *testing.B) {
			began, done := cpuNs(b), int64(0)
			settings := command.DefaultSettings
			for b.Loop() {
				var p command.Programs
				_, work := evalWork(&p, &settings, z.Source)
				done += work
			}
			b.ReportMetric(float64(cpuNs(b)-began)/1e6/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(done)/script.Millisecond/float64(b.N), "work-ms/op")
		})
	}
}
