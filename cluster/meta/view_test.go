package meta

import (
	"fmt"
	"math"
	"testing"
)

func TestANodeIDIsTheNameAndSixteenHexDigits(t *testing.T) {
	for _, n := range []uint64{0, 1, 0xabcdef, 1 << 63, math.MaxUint64} {
		if got, want := MakeNodeID("n1", n), NodeID(fmt.Sprintf("n1.%016x", n)); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
