package linear

import (
	"strings"
	"testing"
)

func listOp(name, value string, call, ret int64) Op {
	o := Op{Name: name, Key: "list0", Call: call, Return: ret, Outcome: Done}
	if name == "RPUSH" {
		o.Arg, o.Reply = value, "1"
	} else {
		o.Reply, o.Null = value, value == ""
	}
	return o
}

func TestListCheckerKnowsRightFromWrong(t *testing.T) {
	push := func(value string, call, ret int64) Op { return listOp("RPUSH", value, call, ret) }
	pop := func(value string, call, ret int64) Op { return listOp("BLPOP", value, call, ret) }
	for _, h := range []struct {
		name  string
		ops   []Op
		left  []string
		fault string
	}{
		{"in turn", []Op{push("a", 1, 2), push("b", 3, 4), pop("a", 5, 6), pop("", 5, 7)}, []string{"b"}, ""},
		{"a pop that waited", []Op{pop("a", 1, 6), push("a", 3, 4)}, nil, ""},
		{"pushed side by side", []Op{push("a", 1, 4), push("b", 2, 3), pop("a", 5, 6), pop("b", 7, 8)}, nil, ""},
		{"an unknown push happened", []Op{with(push("a", 1, 2), Unknown), pop("a", 5, 6)}, nil, ""},
		{"an unknown push happened late", []Op{with(push("a", 1, 2), Unknown), push("b", 3, 4), pop("b", 5, 6), pop("a", 7, 8)}, nil, ""},
		{"an unknown push did not", []Op{with(push("a", 1, 2), Unknown), pop("", 5, 6)}, nil, ""},
		{"an unknown pop took it", []Op{push("a", 1, 2), with(pop("", 5, 6), Unknown)}, nil, ""},
		{"lost", []Op{push("a", 1, 2), pop("", 5, 6)}, nil, "nowhere"},
		{"one unknown pop took two", []Op{push("a", 1, 2), push("b", 1, 2), with(pop("", 5, 6), Unknown)}, nil, "nowhere"},
		{"given out twice", []Op{push("a", 1, 2), pop("a", 3, 4), pop("a", 5, 6)}, nil, "twice"},
		{"given out and still there", []Op{push("a", 1, 2), pop("a", 3, 4)}, []string{"a"}, "was given out"},
		{"there twice", []Op{push("a", 1, 2)}, []string{"a", "a"}, "in it twice"},
		{"given out before it was pushed", []Op{pop("a", 1, 2), push("a", 3, 4)}, nil, "answered before"},
		{"a refused push that is seen", []Op{with(push("a", 1, 2), Refused), pop("a", 3, 4)}, nil, "nobody pushed"},
		{"a refused push that stays", []Op{with(push("a", 1, 2), Refused)}, []string{"a"}, "nobody pushed"},
		{"the later one first", []Op{push("a", 1, 2), push("b", 3, 4), pop("b", 5, 6), pop("a", 7, 8)}, nil, "pushed earlier"},
	} {
		_, err := checkList("list0", h.ops, h.left)
		if h.fault == "" && err != nil || h.fault != "" && (err == nil || !strings.Contains(err.Error(), h.fault)) {
			t.Errorf("%s: %v, want %q", h.name, err, h.fault)
		}
	}
}

func TestQuotaCheckerKnowsRightFromWrong(t *testing.T) {
	given := func(from, to int64) []Op {
		var ops []Op
		for n := from; n <= to; n++ {
			o := Op{Name: opQuota, Key: "quota0", Call: 2 * n, Return: 2*n + 1, Outcome: Done}
			o.Reply = string('0' + byte(n%10))
			if n >= 10 {
				o.Reply = "1" + o.Reply
			}
			ops = append(ops, o)
		}
		return ops
	}
	refused := func(call int64) Op {
		return Op{Name: opQuota, Key: "quota0", Call: call, Return: call + 1, Outcome: Done, Null: true}
	}
	for _, h := range []struct {
		name  string
		ops   []Op
		final int64
		fault string
	}{
		{"some", given(1, 3), 3, ""},
		{"all", append(given(1, quotaLimit), refused(40)), quotaLimit, ""},
		{"too many", given(1, quotaLimit+1), quotaLimit + 1, "of 15"},
		{"refused too early", append(given(1, 3), refused(40)), 3, "one was refused"},
		{"given after it was refused", append(given(1, quotaLimit), refused(20)), quotaLimit, "after another was refused"},
		{"lost", given(1, 3), 2, "between 3 and 3"},
	} {
		if err := checkQuota("quota0", h.ops, h.final); h.fault == "" && err != nil || h.fault != "" && (err == nil || !strings.Contains(err.Error(), h.fault)) {
			t.Errorf("%s: %v, want %q", h.name, err, h.fault)
		}
	}
}
