package commands_test

import (
	"slices"
	"strings"
	"testing"

	"lockstep/tests/kit/cmdtest"
)

// TestRepeatedOperandsChangeNothing compares the results of a few operands with the results of the
// same operands repeated many times.
func TestRepeatedOperandsChangeNothing(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("set a qwe")
	r.Do("set b z")
	r.Do("sadd s 1 2 3")
	r.Do("sadd t 2 3 4")
	r.Do("pfadd h x y")
	r.Do("pfadd i y z")
	for _, test := range []struct {
		command []string
		keys    []string
		// one is how often the operands are repeated at first. The result of XOR depends on whether
		// that is even.
		one int
	}{
		{[]string{"bitop", "and", "d"}, []string{"a", "b"}, 1},
		{[]string{"bitop", "or", "d"}, []string{"a", "b", "none"}, 1},
		{[]string{"bitop", "xor", "d"}, []string{"a", "b"}, 1},
		{[]string{"bitop", "xor", "d"}, []string{"a", "b"}, 2},
		{[]string{"pfmerge", "d"}, []string{"h", "i"}, 1},
		{[]string{"sinterstore", "d"}, []string{"s", "t"}, 1},
		{[]string{"sinterstore", "d"}, []string{"s", "none"}, 1},
		{[]string{"sunionstore", "d"}, []string{"s", "t"}, 1},
		{[]string{"sdiffstore", "d"}, []string{"s", "t"}, 1},
	} {
		// SDIFF is empty if its first set is also among the others, so only the keys behind the
		// first are repeated.
		head, tail := test.keys[:0], test.keys
		if test.command[0] == "sdiffstore" {
			head, tail = test.keys[:1], test.keys[1:]
		}
		run := func(n int) (reply, digest string) {
			r.Do("del d")
			reply = r.Do(strings.Join(slices.Concat(test.command, head, slices.Repeat(tail, n)), " "))
			return reply, r.Do("lockstep.digest-value d")
		}
		few, fewDigest := run(test.one)
		many, manyDigest := run(test.one + 40)
		if few != many || fewDigest != manyDigest {
			t.Errorf("%q of %q answers %q, 40 times more %q, or stores another value", test.command, test.keys, few, many)
		}
	}
	if got := r.Do("sdiff s s" + strings.Repeat(" t", 20)); !strings.HasPrefix(got, "*0") {
		t.Errorf("SDIFF of a set with itself answers %q", got)
	}
}
