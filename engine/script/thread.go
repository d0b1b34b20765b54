package script

import (
	"context"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// thread is the context of one of the interpreter's threads, the main one or a coroutine: the
// interpreter asks Done before each instruction.
type thread struct {
	context.Context
	*meter
	L *lua.LState
}

// attach makes m the meter of a thread.
func (m *meter) attach(L *lua.LState) { L.SetContext(&thread{context.Background(), m, L}) }

// meterOf is the meter of the run L belongs to.
func meterOf(L *lua.LState) *meter { return L.Context().(*thread).meter }

// Done charges for the instruction that the interpreter is about to run.
func (t *thread) Done() <-chan struct{} {
	f := *fieldOf[lua.LState, *frame](t.L, frameAt)
	inst := f.Fn.Proto.Code[f.Pc-1]
	price := prices[inst>>opShift]
	if price < 0 || f.Pc == 1 {
		price = t.price(f, inst)
	}
	if t.work -= price; t.work <= t.pauseAt {
		t.reached()
	}
	if t.over != nil {
		return ended
	}
	return nil
}

// Err is why the run must end.
func (t *thread) Err() error { return t.over }

// frame is what the interpreter knows of a call, and registry what it keeps of registers: the
// beginnings of its own structures.
type frame struct {
	Idx    int
	Fn     *lua.LFunction
	Parent *frame
	// Pc is the place of the instruction behind the one that runs.
	Pc                                                 int
	Base, LocalBase, ReturnBase, NArgs, NRet, TailCall int
}

type registry struct {
	array []lua.LValue
	top   int
}

func init() {
	sameFields(reflect.TypeFor[frame](), within("currentFrame"))
	sameFields(reflect.TypeFor[registry](), within("reg"))
}

// sameFields panics if a structure of the interpreter does not begin with the fields of ours.
func sameFields(ours, theirs reflect.Type) {
	for i := range ours.NumField() {
		f, want := theirs.Field(i), ours.Field(i)
		if f.Name != want.Name || f.Offset != want.Offset || f.Type.Kind() != want.Type.Kind() {
			panic("script: this is not the interpreter that is known here: " + want.Name)
		}
	}
}

func registersOf(L *lua.LState) *registry {
	return (*registry)(*fieldOf[lua.LState, unsafe.Pointer](L, registersAt))
}

// The interpreter's instructions, as its compiler packs them.
const (
	opShift = 26
	maskA   = 0xff
	maskBC  = 0x1ff
)

func argA(inst uint32) int { return int(inst>>18) & maskA }
func argB(inst uint32) int { return int(inst) & maskBC }
func argC(inst uint32) int { return int(inst>>9) & maskBC }

// price is the price of an instruction that depends on more than what it is, or that is the first
// of a function.
func (t *thread) price(f *frame, inst uint32) int64 {
	op := int(inst >> opShift)
	price := max(prices[op], -prices[op])
	if f.Pc == 1 {
		price += priceEnter + priceRegister*int64(f.Fn.Proto.NumUsedRegisters) + priceValue*int64(f.NArgs)
	}
	regs := registersOf(t.L)
	// many is a number of values of which 0 in the instruction says that it is all from a register on.
	many := func(b, from int) int64 {
		if b == 0 {
			return int64(max(regs.top-from, 0))
		}
		return int64(b - 1)
	}
	ra := f.LocalBase + argA(inst)
	switch op {
	case lua.OP_LOADNIL:
		price += priceRegister * int64(argB(inst)-argA(inst))
	case lua.OP_MOVEN:
		price += prices[lua.OP_MOVE] * int64(argC(inst))
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF:
		price += priceHop * chain(regs.array[f.LocalBase+argB(inst)])
	case lua.OP_CALL:
		price += priceValue * many(argB(inst), ra+1)
	case lua.OP_TAILCALL:
		price += priceValue*many(argB(inst), ra+1) + priceShared*int64(sharedNow(t.L))
	case lua.OP_RETURN:
		price += priceValue*many(argB(inst), ra) + priceRegister*int64(f.Fn.Proto.NumUsedRegisters) + priceShared*int64(sharedNow(t.L))
	case lua.OP_SETLIST:
		price += priceElement * many(argB(inst)+min(argB(inst), 1), ra+1)
	case lua.OP_CLOSE:
		price += priceShared * int64(sharedNow(t.L))
	case lua.OP_CLOSURE:
		n := int64(f.Fn.Proto.FunctionPrototypes[inst&0x3ffff].NumUpvalues)
		price += n * (priceUpvalue + priceShared*int64(sharedNow(t.L)))
	case lua.OP_VARARG:
		if b := argB(inst); b == 0 {
			price += priceValue * int64(max(f.NArgs-int(f.Fn.Proto.NumParameters), 0))
		} else {
			price += priceValue * int64(b-1)
		}
	}
	return price
}

// chain is how many tables the interpreter may ask for a field, one after the other, beside the first.
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
