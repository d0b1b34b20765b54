package node

import "testing"

func TestTheCollectorsRoomIsAFixedAmountAndAPart(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, gcPercentMax}, {64 << 20, 125}, {640 << 20, 35}, {100 << 30, 25}} {
		if got := gcPercent(c.live); got != c.want {
			t.Errorf("gcPercent(%d) = %d, want %d", c.live, got, c.want)
		}
	}
}
