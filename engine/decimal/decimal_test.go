package decimal

import (
	"math"
	"strconv"
	"testing"
	"testing/quick"
)

func TestIntegersHaveOneSpelling(t *testing.T) {
	same := func(n int64) bool {
		got, ok := Int(strconv.AppendInt(nil, n, 10))
		return ok && got == n
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	for _, n := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		if !same(n) {
			t.Errorf("%d is not read", n)
		}
	}
	for _, text := range []string{"", "-", "+1", "-0", "00", "01", "-01", " 1", "1 ", "1.0", "1e3", "0x1", "1_0", "/", ":",
		"9223372036854775808", "-9223372036854775809", "18446744073709551617", "99999999999999999999"} {
		if n, ok := Int([]byte(text)); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
	anything := func(text []byte) bool {
		n, ok := Int(text)
		return !ok || strconv.FormatInt(n, 10) == string(text)
	}
	if err := quick.Check(anything, nil); err != nil {
		t.Error(err)
	}
}
