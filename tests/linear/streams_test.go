package linear

import (
	"strings"
	"testing"
)

func TestStreamCheckerKnowsRightFromWrong(t *testing.T) {
	one := func(name, arg, reply string, call int64) Op {
		return Op{Name: name, Key: "stream0", Arg: arg, Call: call, Return: call + 1, Outcome: Done, Reply: reply, Null: reply == ""}
	}
	add := func(id, value string, call int64) Op { return one(opEntryAdd, value, id, call) }
	take := func(id, value string, call int64) Op { return one(opEntryTake, "", id+" "+value, call) }
	ack := func(id string, call int64) Op { return one(opEntryAck, id, "1", call) }
	none := one(opEntryTake, "", "", 90)
	a, b := entry{"1-0", "a"}, entry{"2-0", "b"}
	added := []Op{add("1-0", "a", 1), add("2-0", "b", 3)}
	for _, h := range []struct {
		name    string
		ops     []Op
		entries []entry
		pending []string
		fault   string
	}{
		{"in turn", []Op{take("1-0", "a", 5), ack("1-0", 7), take("2-0", "b", 9)}, []entry{a, b}, []string{"2-0"}, ""},
		{"not given out yet", []Op{none}, []entry{a, b}, nil, ""},
		{"an unknown reading", []Op{with(none, Unknown)}, []entry{a, b}, []string{"1-0"}, ""},
		{"an unknown acknowledgement", []Op{take("1-0", "a", 5), with(ack("1-0", 7), Unknown)}, []entry{a, b}, nil, ""},
		{"a refused acknowledgement", []Op{take("1-0", "a", 5), with(ack("1-0", 7), Refused)}, []entry{a, b}, []string{"1-0"}, ""},
		{"an entry lost", nil, []entry{a}, nil, "is not there"},
		{"an entry twice", nil, []entry{a, b, {"3-0", "b"}}, nil, "is there twice"},
		{"another id", nil, []entry{a, {"3-0", "b"}}, nil, "another id"},
		{"of nobody", nil, []entry{a, b, {"3-0", "c"}}, nil, "nobody added it"},
		{"against time", nil, []entry{b, a}, nil, "which comes first"},
		{"given out twice", []Op{take("1-0", "a", 5), take("1-0", "a", 7)}, []entry{a, b}, nil, "given out twice"},
		{"given out against time", []Op{take("2-0", "b", 5), take("1-0", "a", 7)}, []entry{a, b}, []string{"1-0", "2-0"}, "which comes first"},
		{"passed over", []Op{take("2-0", "b", 5)}, []entry{a, b}, []string{"2-0"}, "passed over"},
		{"pending for nobody", []Op{none}, []entry{a, b}, []string{"1-0"}, "nobody was given"},
		{"pending though acknowledged", []Op{take("1-0", "a", 5), ack("1-0", 7)}, []entry{a, b}, []string{"1-0"}, "and was acknowledged"},
		{"forgotten", []Op{take("1-0", "a", 5)}, []entry{a, b}, nil, "was not acknowledged"},
		{"acknowledged in vain", []Op{take("1-0", "a", 5), one(opEntryAck, "1-0", "0", 7)}, []entry{a, b}, nil, "was not pending"},
		{"another value", []Op{take("1-0", "b", 5)}, []entry{a, b}, []string{"1-0"}, "given out as"},
	} {
		_, err := checkStream("stream0", append(append([]Op(nil), added...), h.ops...), h.entries, h.pending)
		if h.fault == "" && err != nil || h.fault != "" && (err == nil || !strings.Contains(err.Error(), h.fault)) {
			t.Errorf("%s: %v, want %q", h.name, err, h.fault)
		}
	}
}
