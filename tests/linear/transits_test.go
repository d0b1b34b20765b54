package linear

import (
	"strings"
	"testing"
	"time"
)

func transitOp(name, value string, call, ret int64) Op {
	o := Op{Name: name, Key: "transit0", Call: call, Return: ret, Outcome: Done}
	if name == opTransitPush {
		o.Arg, o.Reply = value, "1"
	} else {
		o.Reply, o.Null = value, value == ""
	}
	return o
}

func TestTransitCheckerKnowsRightFromWrong(t *testing.T) {
	push := func(value string, call, ret int64) Op { return transitOp(opTransitPush, value, call, ret) }
	move := func(value string, call, ret int64) Op { return transitOp(opTransitMove, value, call, ret) }
	for _, h := range []struct {
		name    string
		ops     []Op
		in, out []string
		fault   string
	}{
		{"in turn", []Op{push("a", 1, 2), push("b", 3, 4), move("a", 5, 6)}, []string{"b"}, []string{"a"}, ""},
		{"an unknown move", []Op{push("a", 1, 2), with(move("", 3, 4), Unknown)}, nil, []string{"a"}, ""},
		{"an unknown push that never happened", []Op{with(push("a", 1, 2), Unknown)}, nil, nil, ""},
		{"lost", []Op{push("a", 1, 2)}, nil, nil, "nowhere"},
		{"in both", []Op{push("a", 1, 2)}, []string{"a"}, []string{"a"}, "twice"},
		{"moved and still there", []Op{push("a", 1, 2), move("a", 3, 4)}, []string{"a"}, nil, "not where it went"},
		{"moved twice", []Op{push("a", 1, 2), move("a", 3, 4), move("a", 5, 6)}, nil, []string{"a"}, "moved twice"},
		{"a refused push that is there", []Op{with(push("a", 1, 2), Refused)}, []string{"a"}, nil, "nobody pushed"},
		{"against time", []Op{push("a", 1, 2), push("b", 1, 2), move("a", 3, 4), move("b", 5, 6)}, nil, []string{"b", "a"}, "came first"},
	} {
		_, err := checkTransit("transit0", h.ops, h.in, h.out)
		if h.fault == "" && err != nil || h.fault != "" && (err == nil || !strings.Contains(err.Error(), h.fault)) {
			t.Errorf("%s: %v, want %q", h.name, err, h.fault)
		}
	}
}

func TestBriefCheckerKnowsRightFromWrong(t *testing.T) {
	at := func(d time.Duration) int64 { return int64(d) }
	const second = time.Second
	write := Op{Name: opBrief, Key: "brief1", Arg: "1000", Call: 0, Return: at(second / 10), Outcome: Done}
	read := func(there bool, call, ret time.Duration) Op {
		return Op{Name: opBriefRead, Key: "brief1", Call: at(call), Return: at(ret), Outcome: Done, Null: !there}
	}
	for _, h := range []struct {
		name  string
		ops   []Op
		fault string
	}{
		{"there and gone", []Op{write, read(true, second/2, second/2+1), read(false, 2*second, 2*second+1)}, ""},
		{"beside its write", []Op{write, read(false, 0, 1), read(true, 2, 3)}, ""},
		{"gone too early", []Op{write, read(false, second/2, second/2+1)}, "too early"},
		{"there too long", []Op{write, read(true, 5*second, 5*second+1)}, "still there"},
		{"back again", []Op{write, read(false, second, second+1), read(true, second+2, second+3)}, "came back"},
		{"refused and there", []Op{with(write, Refused), read(true, second/2, second/2+1)}, "refused"},
	} {
		_, _, err := checkBriefs(h.ops, opBrief, opBriefRead, false)
		if h.fault == "" && err != nil || h.fault != "" && (err == nil || !strings.Contains(err.Error(), h.fault)) {
			t.Errorf("%s: %v, want %q", h.name, err, h.fault)
		}
	}
}
