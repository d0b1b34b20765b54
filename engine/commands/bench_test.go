package commands_test

import (
	"fmt"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

// benchKeys is the number of keys that the benchmarks go through.
const benchKeys = 1 << 14

// benchCommand runs a command on one key after the other, as apply does: with a
// Ctx and a reply buffer that are used again.
func benchCommand(b *testing.B, logged bool, line string) {
	benchObserved(b, nil, logged, line)
}

// benchObserved is benchCommand with an observer of events.
func benchObserved(b *testing.B, observer command.Observer, logged bool, line string) {
	r := cmdtest.NewRunner(b)
	args := make([][][]byte, benchKeys)
	for i := range args {
		args[i] = cmdtest.Words(fmt.Sprintf(line, i))
		r.Exec([]byte("SET"), args[i][1], []byte("1000000"))
	}
	spec, _ := commands.Lookup(args[0])
	c := command.Ctx{KS: r.KS, Out: &r.Out, Logged: logged, Walk: cmdtest.FreeWalker{}, Times: command.Times{NowMs: 1}, Meter: command.Meter{Settings: &r.Settings}, Listeners: command.Listeners{Observer: observer}}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		r.Out.Reset(2)
		c.TxnNo++
		spec.Run(&c, args[i%benchKeys])
	}
}

func BenchmarkGet(b *testing.B)   { benchCommand(b, false, "GET key:%012d") }
func BenchmarkSet(b *testing.B)   { benchCommand(b, true, "SET key:%012d 1234567") }
func BenchmarkSetPX(b *testing.B) { benchCommand(b, true, "SET key:%012d 1234567 PX 100000") }
func BenchmarkSetUnheard(b *testing.B) {
	benchObserved(b, cmdtest.Deaf{}, true, "SET key:%012d 1234567")
}
func BenchmarkIncr(b *testing.B)        { benchCommand(b, true, "INCR key:%012d") }
func BenchmarkIncrByFloat(b *testing.B) { benchCommand(b, true, "INCRBYFLOAT key:%012d 0.25") }
func BenchmarkSetRange(b *testing.B)    { benchCommand(b, true, "SETRANGE key:%012d 3 xyz") }
func BenchmarkMGet10(b *testing.B) {
	benchCommand(b, false, "MGET key:%012[1]d a b c d e f g h key:%012[1]d")
}
func BenchmarkLookup(b *testing.B) {
	args := cmdtest.Words("GET k")
	for range b.N {
		commands.Lookup(args)
	}
}
