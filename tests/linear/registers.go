package linear

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is a key's value. Absence is a state of its own.
type register struct {
	present bool
	value   string
}

// registerModel is Redis's behaviour for one key, for porcupine.
var registerModel = porcupine.Model{
	Init:  func() any { return register{} },
	Step:  stepRegister,
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string {
		in, out := input.(Op), output.(Op)
		if out.Outcome == Unknown {
			return fmt.Sprintf("%s %s = ?", in.Name, in.Arg)
		}
		return fmt.Sprintf("%s %s = %s", in.Name, in.Arg, reply(&out))
	},
	DescribeState: func(state any) string {
		if r := state.(register); r.present {
			return r.value
		}
		return "(absent)"
	},
}

func reply(o *Op) string {
	if o.Null {
		return "(nil)"
	}
	return o.Reply
}

// stepRegister reports whether a command may have had its reply in a state, and returns the next
// state. An unknown outcome agrees with any reply.
func stepRegister(state, input, output any) (bool, any) {
	now, in, out := state.(register), input.(Op), output.(Op)
	want, next := register{}, now
	switch in.Name {
	case "GET":
		want = now
	case "SET":
		want, next = register{true, "OK"}, register{true, in.Arg}
	case "GETSET":
		want, next = now, register{true, in.Arg}
	case "SETNX":
		want = register{true, "0"}
		if !now.present {
			want, next = register{true, "1"}, register{true, in.Arg}
		}
	case opCompareAndSet:
		want = register{true, "0"}
		if now == (register{true, in.Expect}) {
			want, next = register{true, "1"}, register{true, in.Arg}
		}
	case "DEL":
		want, next = register{true, "0"}, register{}
		if now.present {
			want = register{true, "1"}
		}
	default:
		panic("linear: no model for " + in.Name)
	}
	got := register{}
	if !out.Null {
		got = register{true, out.Reply}
	}
	return out.Outcome == Unknown || got == want, next
}

// registerOps converts a key's history for porcupine: a refused command has not happened, an
// unknown read says nothing, and an unknown write has no end.
func registerOps(history []Op) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, o := range history {
		end := o.Return
		switch {
		case o.Outcome == Refused, o.Outcome == Unknown && !o.isWrite():
			continue
		case o.Outcome == Unknown:
			end = math.MaxInt64
		}
		ops = append(ops, porcupine.Operation{ClientId: o.Client, Input: o, Output: o, Call: o.Call, Return: end})
	}
	return ops
}

// verdict is the result of the register checker.
type verdict struct {
	keys, ops, unknown int
	// unchecked are keys whose check took too long, so nothing is known of them.
	unchecked []string
	// wrong is the first key whose history has no valid order.
	wrong string
	info  porcupine.LinearizationInfo
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d registers, %d commands, %d of them of unknown outcome, %d registers unchecked", v.keys, v.ops, v.unknown, len(v.unchecked))
}

// checkRegisters checks all registers, each for at most patience.
func checkRegisters(history []Op, patience time.Duration) *verdict {
	byKey := map[string][]Op{}
	for _, o := range history {
		if o.isRegister() {
			byKey[o.Key] = append(byKey[o.Key], o)
		}
	}
	names := make([]string, 0, len(byKey))
	for key := range byKey {
		names = append(names, key)
	}
	slices.Sort(names)
	v := &verdict{keys: len(names)}
	for _, key := range names {
		ops := registerOps(byKey[key])
		v.ops += len(ops)
		for _, o := range ops {
			if o.Return == math.MaxInt64 {
				v.unknown++
			}
		}
		result, info := porcupine.CheckOperationsVerbose(registerModel, ops, patience)
		switch result {
		case porcupine.Unknown:
			v.unchecked = append(v.unchecked, key)
		case porcupine.Illegal:
			v.wrong, v.info = key, info
			return v
		}
	}
	return v
}
