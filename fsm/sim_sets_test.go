package fsm

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// setOp draws arguments for a command on sets: keys that usually hold sets, and members that the
// sets share. It returns nil for other commands, and sometimes for these.
func (l *simLog) setOp(spec *command.Spec) [][]byte {
	if spec.Group != "set" || l.rng.IntN(16) == 0 {
		return nil
	}
	if l.rng.IntN(3) == 0 {
		spec = commands.Get("sadd") // otherwise all sets would soon be empty
	}
	args := [][]byte{[]byte(spec.Name)}
	add := func(more ...[]byte) { args = append(args, more...) }
	switch spec.Name {
	case "sadd":
		key := l.setKey()
		add(key)
		if key[2] < '2' && l.rng.IntN(8) > 0 { // sets of numbers
			add(fmt.Append(nil, l.rng.IntN(600)), fmt.Append(nil, l.rng.IntN(6)))
		} else {
			add(l.setMembers()...)
		}
	case "srem", "smismember":
		add(l.setKey(), l.setMember(), l.setMember(), l.setMember())
	case "sismember":
		add(l.setKey(), l.setMember())
	case "smove":
		add(l.setKey(), l.setKey(), l.setMember())
	case "spop", "srandmember":
		add(l.setKey())
		if n := l.rng.IntN(16); n < 8 {
			// Usually a few; sometimes all, or all except a few.
			add(strconv.AppendInt(nil, int64([]int{0, 1, 2, 3, 3, 5, 110, 490}[n]), 10))
		}
	case "sscan":
		add(l.setKey(), []byte("0"), []byte("COUNT"), fmt.Append(nil, 1+l.rng.IntN(40)))
	case "sintercard":
		add([]byte("2"), l.setKey(), l.setKey(), []byte("LIMIT"), fmt.Append(nil, l.rng.IntN(5)))
	case "scard", "smembers":
		add(l.setKey())
	default: // sinter, sunionstore and the like
		for len(args) < -spec.Arity+l.rng.IntN(2) {
			add(l.setKey())
		}
	}
	return args
}

func (l *simLog) setKey() []byte { return fmt.Appendf(nil, "{k%d}set", l.rng.IntN(7)) }

func (l *simLog) setMember() []byte {
	n := l.rng.IntN(160)
	if l.rng.IntN(4) > 0 {
		n = l.rng.IntN(6)
	}
	if l.rng.IntN(3) == 0 {
		return strconv.AppendInt(nil, int64(n), 10)
	}
	return fmt.Appendf(nil, "m%d", n)
}

// setMembers draws one or a few members, or a run of numbers or words that makes a set change its
// form.
func (l *simLog) setMembers() [][]byte {
	var members [][]byte
	format, n := "m%d", 0
	switch l.rng.IntN(12) {
	case 0:
		n = 120 + l.rng.IntN(20)
	case 1:
		format, n = "%d", 500+l.rng.IntN(20)
	default:
		for range 1 + l.rng.IntN(4) {
			members = append(members, l.setMember())
		}
	}
	for i := range n {
		members = append(members, fmt.Appendf(nil, format, i))
	}
	return members
}

// TestSimulatedSetCommandsDoSomething: every command on sets usually finds its data, and sets of
// all forms occur. A determinism run of errors would prove nothing.
func TestSimulatedSetCommandsDoSomething(t *testing.T) {
	l, s := newSimLog(5), newSimMachine("sets", 2, 2)
	defer s.m.Close()
	drawn, useful, forms := map[string]int{}, map[string]int{}, map[string]int{}
	index, id := uint64(0), EntryID{}
	run := func(op Op) string {
		index++
		l.n++
		id = EntryID{1, 1, l.n}
		b := NewEntryBuilder(simGroup, id, l.stamp, 1)
		b.Add(AppendBundle(nil, &Bundle{
			Origin: Origin{Node: 42, Boot: 1, Lane: 1}, FirstSeq: index, AckedBelow: index, Txns: []Txn{{Proto: 2, Ops: []Op{op}}},
		}))
		if err := s.m.Apply(index, b.Finish()); err != nil {
			t.Fatal(err)
		}
		s.await(t, index)
		s.recorder.mu.Lock()
		defer s.recorder.mu.Unlock()
		return s.recorder.replies[id][0]
	}
	l.specs = slices.DeleteFunc(l.specs, func(spec *command.Spec) bool { return spec.Group != "set" })
	for range 4000 {
		args := l.setOp(l.specs[l.rng.IntN(len(l.specs))])
		if args == nil {
			continue
		}
		name := string(args[0])
		drawn[name]++
		switch reply := run(Op{Args: args}); {
		case reply == "0 :0\r\n", reply == "0 *0\r\n", reply == "0 $-1\r\n", reply[2] == '-':
		default:
			useful[name]++
		}
		if name == "sadd" {
			forms[run(Op{Args: [][]byte{[]byte("object"), []byte("encoding"), args[1]}})]++
		}
	}
	if len(drawn) != 17 {
		t.Errorf("%d commands were drawn", len(drawn))
	}
	for name, n := range drawn {
		if n < 20 || useful[name] < n*4/10 {
			t.Errorf("%s was useful %d times of %d", name, useful[name], n)
		}
	}
	for _, form := range []string{"0 $6\r\nintset\r\n", "0 $8\r\nlistpack\r\n", "0 $9\r\nhashtable\r\n"} {
		if forms[form] < 10 {
			t.Errorf("%q came up %d times", form, forms[form])
		}
	}
}
