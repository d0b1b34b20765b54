package linear

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const checkPatience = time.Minute

func op(client int, name, arg string, call, ret int64, reply string) Op {
	return Op{Client: client, Name: name, Key: "k", Arg: arg, Call: call, Return: ret, Outcome: Done, Reply: reply, Null: reply == "nil"}
}

func with(o Op, outcome Outcome) Op { o.Outcome = outcome; return o }

func compareAndSet(expect, value string, call, ret int64, reply string) Op {
	o := op(2, opCompareAndSet, value, call, ret, reply)
	o.Expect = expect
	return o
}

// registerHistories are small histories, with the verdict that each must get.
var registerHistories = []struct {
	name  string
	right bool
	ops   []Op
}{
	{"writes and reads in turn", true, []Op{
		op(1, "GET", "", 1, 2, "nil"), op(1, "SET", "a", 3, 4, "OK"), op(2, "GET", "", 5, 6, "a"),
		op(2, "SETNX", "b", 7, 8, "0"), op(2, "GETSET", "c", 9, 10, "a"), op(1, "DEL", "", 11, 12, "1"),
		op(1, "DEL", "", 13, 14, "0"), op(2, "SETNX", "d", 15, 16, "1"), op(1, "GET", "", 17, 18, "d")}},
	{"a read beside a write sees either", true, []Op{
		op(1, "SET", "a", 1, 2, "OK"), op(1, "SET", "b", 3, 8, "OK"), op(2, "GET", "", 4, 5, "b"), op(3, "GET", "", 4, 6, "a")}},
	{"a stale read", false, []Op{
		op(1, "SET", "a", 1, 2, "OK"), op(1, "SET", "b", 3, 4, "OK"), op(2, "GET", "", 5, 6, "a")}},
	{"a value that comes and goes", false, []Op{
		op(1, "SET", "a", 1, 2, "OK"), op(1, "SET", "b", 3, 9, "OK"), op(2, "GET", "", 4, 5, "b"), op(2, "GET", "", 6, 7, "a")}},
	{"a lost write", false, []Op{
		op(1, "SET", "a", 1, 2, "OK"), op(2, "GET", "", 3, 4, "nil")}},
	{"two winners of SETNX", false, []Op{
		op(1, "SETNX", "a", 1, 4, "1"), op(2, "SETNX", "b", 2, 5, "1")}},
	{"a doubled GETSET", false, []Op{
		op(1, "SET", "a", 1, 2, "OK"), op(2, "GETSET", "b", 3, 4, "b")}},
	{"an unknown write that happened", true, []Op{
		op(1, "SET", "a", 1, 2, "OK"), with(op(2, "SET", "b", 3, 4, ""), Unknown), op(1, "GET", "", 9, 10, "b")}},
	{"an unknown write that never happened", true, []Op{
		op(1, "SET", "a", 1, 2, "OK"), with(op(2, "SET", "b", 3, 4, ""), Unknown), op(1, "GET", "", 9, 10, "a")}},
	{"an unknown write that happened twice", false, []Op{
		with(op(2, "SET", "b", 1, 2, ""), Unknown), op(1, "GET", "", 3, 4, "b"), op(1, "SET", "a", 5, 6, "OK"),
		op(1, "GET", "", 7, 8, "b")}},
	{"an unknown write that happened before it was called", false, []Op{
		op(1, "GET", "", 1, 2, "b"), with(op(2, "SET", "b", 3, 4, ""), Unknown)}},
	{"a refused write that is seen", false, []Op{
		with(op(2, "SET", "b", 1, 2, ""), Refused), op(1, "GET", "", 3, 4, "b")}},
	{"a script that compares and sets", true, []Op{
		op(1, "SET", "a", 1, 2, "OK"), compareAndSet("a", "b", 3, 4, "1"), compareAndSet("a", "c", 5, 6, "0"), op(1, "GET", "", 7, 8, "b")}},
	{"two winners of compare and set", false, []Op{
		op(1, "SET", "a", 1, 2, "OK"), compareAndSet("a", "b", 3, 6, "1"), compareAndSet("a", "c", 4, 5, "1")}},
	{"an unknown read", true, []Op{
		op(1, "SET", "a", 1, 2, "OK"), with(op(2, "GET", "", 3, 4, ""), Unknown)}},
}

func TestRegisterCheckerKnowsRightFromWrong(t *testing.T) {
	for _, h := range registerHistories {
		v := checkRegisters(h.ops, checkPatience)
		if (v.wrong == "") != h.right || len(v.unchecked) > 0 {
			t.Errorf("%s: wrong %q, unchecked %v", h.name, v.wrong, v.unchecked)
		}
	}
}

// TestRegisterCheckerFindsOneStaleReadAmongMany plants a fault in a history as large as those of
// the real tests.
func TestRegisterCheckerFindsOneStaleReadAmongMany(t *testing.T) {
	var ops []Op
	for i := range int64(400) {
		client, at := int(i%9), i*10
		ops = append(ops, op(client, "SET", fmt.Sprint("v", i), at, at+7, "OK"), op(client, "GET", "", at+8, at+9, fmt.Sprint("v", i)))
	}
	if v := checkRegisters(ops, checkPatience); v.wrong != "" {
		t.Fatal("the history was right")
	}
	ops[401].Reply = "v198"
	if v := checkRegisters(ops, checkPatience); v.wrong == "" {
		t.Error("a stale read was not found")
	}
}

func incr(call, ret int64, reply string) Op {
	o := op(1, "INCR", "", call, ret, reply)
	o.Key = "counter0"
	return o
}

func TestCounterCheckerKnowsRightFromWrong(t *testing.T) {
	unknown := with(incr(1, 2, ""), Unknown)
	for _, h := range []struct {
		name  string
		ops   []Op
		final int64
		fault string
	}{
		{"in turn", []Op{incr(1, 2, "1"), incr(3, 4, "2")}, 2, ""},
		{"side by side", []Op{incr(1, 9, "2"), incr(2, 8, "1")}, 2, ""},
		{"an unknown one happened", []Op{unknown, incr(3, 4, "2")}, 2, ""},
		{"an unknown one did not", []Op{unknown, incr(3, 4, "1")}, 1, ""},
		{"a refused one did not", []Op{with(incr(1, 2, ""), Refused), incr(3, 4, "1")}, 1, ""},
		{"doubled", []Op{incr(1, 2, "1"), incr(3, 4, "3")}, 3, "between 2 and 2"},
		{"lost", []Op{incr(1, 2, "1"), incr(3, 4, "2")}, 1, "between 2 and 2"},
		{"the same result twice", []Op{incr(1, 2, "1"), incr(3, 4, "1"), unknown}, 2, "twice"},
		{"an unknown one happened twice", []Op{unknown, incr(3, 4, "3")}, 3, "between 1 and 2"},
		{"results against time", []Op{incr(1, 2, "2"), incr(3, 4, "1")}, 2, "smaller result"},
		{"beyond the end", []Op{incr(1, 2, "3"), unknown, unknown, unknown}, 2, "ends at"},
		{"no number", []Op{incr(1, 2, "x")}, 1, "answered"},
	} {
		_, err := checkCounter("counter0", h.ops, h.final)
		if h.fault == "" && err != nil || h.fault != "" && (err == nil || !strings.Contains(err.Error(), h.fault)) {
			t.Errorf("%s: %v, want %q", h.name, err, h.fault)
		}
	}
}
