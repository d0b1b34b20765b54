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

func TestAnIncarnationIsReadFromAnID(t *testing.T) {
	for id, want := range map[NodeID]uint64{
		MakeNodeID("n1", 7): 7, MakeNodeID("a.b-c", 1<<64-1): 1<<64 - 1,
		"": 0, "n1": 0, "n1.7": 0, "n1.000000000000000G": 0, "n1.00000000000000AB": 0, "n1.+000000000000007": 0,
	} {
		if got := id.Incarnation(); got != want {
			t.Errorf("%q: %x, want %x", id, got, want)
		}
	}
}
