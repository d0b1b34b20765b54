package script

import (
	"context"
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// meter counts what a run uses. It is the interpreter's context: Done is asked
// before each instruction.
type meter struct {
	context.Context
	limits                       *Limits
	instructions, bytes, pattern int64 // left
	coroutines                   int   // left
	over                         error // set for good when a budget is spent
	stop                         func() error
	stopped                      bool // over is what stop said
	rest                         func()
	pauseAt                      int64 // instructions left at the next pause
	matched                      int   // pattern steps since the last rest
	weight, unweighed            int   // what an instruction costs beside one, and how many came since that was seen
	goDepth                      int
	base                         int                 // the first register of the innermost protected call
	threads                      []int               // goDepth where each running thread began
	yielded                      map[*lua.LState]int // how many values each thread that rests wants
	line                         int                 // of the newest error
	source                       string              // the text in which that is
	thrown                       bool                // the next error is one that error was given
	host                         Host
	chunk, title                 string           // what errors call the text, and what runs
	loaded                       map[string]chunk // texts that were loaded, by what errors call them
	space                        *space           // the global variables
	loading                      *instance        // the one whose functions are being registered
	dirty                        bool             // a table was changed that later calls see
	proto                        int
	seed                         rng
	inst                         *interpreter
	walks                        map[*lua.LTable]*walk
	library                      *instance // the one whose function runs
	names                        *names
}

var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// pauseEvery is how many instructions, or pattern steps, run between two pauses:
// some tenths of a millisecond.
const pauseEvery = 1 << 14

// sharedFree is how many variables closures may share with functions that run before
// each instruction costs more, and weighEvery after how many they are counted.
const (
	sharedFree = 64
	weighEvery = 256
)

// Done counts an instruction.
func (m *meter) Done() <-chan struct{} {
	if m.unweighed++; m.unweighed >= weighEvery {
		m.unweighed, m.weight = 0, sharedNow(m.inst.L.G.CurrentThread)/sharedFree
	}
	m.count(1 + m.weight)
	if m.over != nil {
		return ended
	}
	return nil
}

// count counts n instructions, and pauses now and then.
func (m *meter) count(n int) {
	m.instructions -= int64(n)
	if m.instructions <= 0 {
		m.exceeded(m.limits.Instructions, "instructions")
	} else if m.instructions <= m.pauseAt {
		m.pauseAt = m.instructions - pauseEvery
		m.pause()
	}
}

// pause leaves the processor to others for a moment, and asks whether to stop.
func (m *meter) pause() {
	if m.rest != nil {
		m.rest()
	}
	if m.stop != nil && m.over == nil {
		m.over = m.stop()
		m.stopped = m.over != nil
	}
}

// exceeded ends the run for good: a budget is spent.
func (m *meter) exceeded(limit int64, what string) {
	if m.over == nil {
		m.over = fmt.Errorf("script exceeded its limit of %d %s", limit, what)
	}
}

// Err is why the run must end.
func (m *meter) Err() error { return m.over }

// meterOf is the meter of the run L belongs to.
func meterOf(L *lua.LState) *meter { return L.Context().(*meter) }

// step charges n instructions.
func (m *meter) step(L *lua.LState, n int) {
	m.count(n)
	m.passOn(L)
}

// passOn raises the end of the run: no pcall ends it.
func (m *meter) passOn(L *lua.LState) {
	if m.over != nil {
		L.RaiseError("%s", m.over.Error())
	}
}

// use charges n bytes, before they are allocated.
func (m *meter) use(L *lua.LState, n int) {
	if m.bytes -= int64(n); m.bytes < 0 {
		m.exceeded(m.limits.Bytes, "bytes of memory")
		m.passOn(L)
	}
}

// match charges n pattern steps.
func (m *meter) match(L *lua.LState, n int) {
	if m.pattern -= int64(n); m.pattern < 0 {
		m.exceeded(m.limits.PatternSteps, "pattern steps")
		m.passOn(L)
	}
	if m.matched += n; m.matched > pauseEvery {
		m.matched = 0
		m.pause()
		m.passOn(L)
	}
}

// text charges for a new string of n bytes and the work on it.
func (m *meter) text(L *lua.LState, n int) {
	m.use(L, n+stringCost)
	m.step(L, n/64)
}

// What things cost in bytes.
const (
	stringCost  = 32
	tableCost   = 128
	hashCost    = 3072 // the first string key of a table
	elementCost = 64
	keyCost     = 128
	closureCost = 128
	upvalueCost = 64
	threadCost  = 128 << 10
)

// enter counts a call from the library into Lua; leave with goDepth--.
func (m *meter) enter(L *lua.LState) {
	if m.goDepth >= goDepthMax {
		L.RaiseError("C stack overflow")
	}
	m.goDepth++
}

// call calls a function from the library. The function and its arguments are
// given, nret results are left on the stack.
func (m *meter) call(L *lua.LState, nret int, fn lua.LValue, args ...lua.LValue) {
	m.enter(L)
	L.Push(fn)
	for _, a := range args {
		L.Push(a)
	}
	L.Call(len(args), nret)
	m.goDepth--
}
