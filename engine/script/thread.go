package script

import (
	"context"
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// thread is the context of one of the interpreter's threads: the main one, a coroutine, or one in
// which pcall runs a function (protected.go). The interpreter calls Done before each instruction.
type thread struct {
	context.Context
	*run
	L *lua.LState
	// outer is the thread that waits in pcall for this one to end, or nil.
	outer *lua.LState
	// callsMax is the most nested calls, including those of the threads that wait. room is how many
	// of them are left for this thread.
	callsMax, room int
	// registersPaid is how many registers the run has paid for. It pays for those of pcall's
	// threads.
	registersPaid int
}

// attach makes r the run of a thread that has room for so many calls.
func (r *run) attach(L *lua.LState, calls int) {
	L.SetContext(&thread{
		Context: background, run: r, L: L, callsMax: calls, room: calls, registersPaid: math.MaxInt,
	})
}

var background = context.Background()

func threadOf(L *lua.LState) *thread { return L.Context().(*thread) }

// runOf is the run L belongs to, and meterOf is its meter.
func runOf(L *lua.LState) *run     { return threadOf(L).run }
func meterOf(L *lua.LState) *meter { return &threadOf(L).meter }

// Done charges for the instruction that the interpreter is about to run.
func (t *thread) Done() <-chan struct{} {
	inst, first := instruction(t.L)
	price := prices[inst>>opShift]
	if price < 0 {
		price = t.price(inst)
	}
	if first {
		price += t.entered()
	}
	if t.work -= price; t.work <= t.pauseAt {
		t.reached()
	}
	if t.over != nil {
		return ended
	}
	return nil
}

// Err is the reason why the run must end.
func (t *thread) Err() error { return t.over }

// The interpreter's instructions, as its compiler packs them.
const (
	opShift = 26
	maskA   = 0xff
	maskBC  = 0x1ff
)

func argA(inst uint32) int { return int(inst>>18) & maskA }
func argB(inst uint32) int { return int(inst) & maskBC }
func argC(inst uint32) int { return int(inst>>9) & maskBC }

// entered is the price of starting a function. It raises an error if there is no room for one more.
func (t *thread) entered() int64 {
	f := innermostCall(t.L)
	if f.depth >= t.room {
		line, source := innermost(t.L, 1, t.line, t.source)
		t.L.Error(lua.LString(fmt.Sprintf("%s:%d: %s", source, line, textCalls)), 0)
	}
	for registerTop(t.L) > t.registersPaid {
		// The interpreter copies all registers when it adds some.
		t.registersPaid += innerGrowBy
		t.use(t.L, t.registersPaid*registerCost)
	}
	return priceEnter + priceRegister*int64(f.proto.NumUsedRegisters) + priceValue*int64(f.passed)
}

// price is the price of an instruction that depends on more than its kind.
func (t *thread) price(inst uint32) int64 {
	f := innermostCall(t.L)
	op := int(inst >> opShift)
	price := -prices[op]
	// many is a number of values, where 0 in the instruction means all values from a register on.
	many := func(b, from int) int64 {
		if b == 0 {
			return int64(max(registerTop(t.L)-from, 0))
		}
		return int64(b - 1)
	}
	ra := f.base + argA(inst)
	switch op {
	case lua.OP_LOADNIL:
		price += priceRegister * int64(argB(inst)-argA(inst))
	case lua.OP_MOVEN:
		price += prices[lua.OP_MOVE] * int64(argC(inst))
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF:
		price += priceHop * chain(register(t.L, f.base+argB(inst)))
	case lua.OP_CALL:
		price += priceValue * many(argB(inst), ra+1)
	case lua.OP_TAILCALL:
		price += priceValue*many(argB(inst), ra+1) + priceShared*int64(sharedNow(t.L))
	case lua.OP_RETURN:
		price += priceValue*many(argB(inst), ra) + priceRegister*int64(f.proto.NumUsedRegisters) + priceShared*int64(sharedNow(t.L))
	case lua.OP_SETLIST:
		price += priceElement * many(argB(inst)+min(argB(inst), 1), ra+1)
	case lua.OP_CLOSE:
		price += priceShared * int64(sharedNow(t.L))
	case lua.OP_CLOSURE:
		n := int64(f.proto.FunctionPrototypes[inst&0x3ffff].NumUpvalues)
		price += n * (priceUpvalue + priceShared*int64(sharedNow(t.L)))
	case lua.OP_VARARG:
		if b := argB(inst); b == 0 {
			price += priceValue * int64(max(f.passed-int(f.proto.NumParameters), 0))
		} else {
			price += priceValue * int64(b-1)
		}
	}
	return price
}

// chain is how many more tables the interpreter may ask for a field, one after the other.
func chain(v lua.LValue) (hops int64) {
	switch v.(type) {
	case lua.LString:
		return 1
	case *lua.LTable:
	default:
		return 0
	}
	for hops < int64(lua.MaxTableGetLoop) {
		t, ok := v.(*lua.LTable)
		if !ok {
			break
		}
		mt, ok := t.Metatable.(*lua.LTable)
		if !ok {
			break
		}
		v = mt.RawGetString("__index")
		hops++
	}
	return hops
}
