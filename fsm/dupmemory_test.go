package fsm

import (
	"strings"
	"testing"
)

// KeptBytes reports the memory of the records, and none of those that are acknowledged.
func TestWhatIsKeptIsMeasured(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		o := Origin{Node: 5, Boot: 1, Lane: 1}
		long := strings.Repeat("x", 10_000)
		g.ask(o, 0, 0, "set", "k", long)
		// There are more replies than are measured, in another lane.
		other := Origin{Node: 6, Boot: 1}
		for seq := range uint64(dupLooksMax + 100) {
			o := other
			o.Lane = uint32(seq / LaneWindow)
			g.begin(o, seq%LaneWindow, 0, txnOf(0, "get", "k2"))
		}
		const replies = 50
		for seq := range uint64(replies) {
			g.ask(o, 1+seq, 0, "getset", "k", long)
		}
		reload()
		g.KeptBytes() // requests a measurement
		g.ask(o, 1+replies, 0, "incr", "n")
		least := int64(replies*len(long) + (dupLooksMax+100)*5)
		if got := g.KeptBytes(); got < least || got > 2*least {
			t.Errorf("%d bytes are kept, about %d were expected", got, least)
		}
		g.ask(o, 2+replies, 2+replies, "incr", "n")
		before := (dupLooksMax + 101) * (dupRecordBytes + 5)
		if got := g.KeptBytes(); got < before/2 || got > 2*before {
			t.Errorf("%d bytes are kept after the acknowledgement, about %d were expected", got, before)
		}
	})
}
