package fsm

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
)

// gateways send txns to one machine, one per entry.
type gateways struct{ *lockedMachine }

func newGateways(t *testing.T) *gateways { return &gateways{newLockedMachine(t)} }

// begin puts a txn into the log and does not wait for it.
func (g *gateways) begin(o Origin, seq, ackedBelow uint64, txn Txn) {
	g.t.Helper()
	g.index++
	b := Bundle{Origin: o, FirstSeq: seq, AckedBelow: ackedBelow, Txns: []Txn{txn}}
	if err := g.Apply(g.index, entryOf(g.index, b)); err != nil {
		g.t.Fatal(err)
	}
}

// ask puts a command into the log and returns the outcome and the reply.
func (g *gateways) ask(o Origin, seq, ackedBelow uint64, args ...string) string {
	g.t.Helper()
	return g.askTxn(o, seq, ackedBelow, txnOf(0, args...))
}

func (g *gateways) askTxn(o Origin, seq, ackedBelow uint64, txn Txn) string {
	g.t.Helper()
	g.begin(o, seq, ackedBelow, txn)
	g.executed(g.index)
	g.replies.mu.Lock()
	defer g.replies.mu.Unlock()
	return g.replies.replies[EntryID{1, 1, g.index}][0]
}

func (g *gateways) want(what, got, want string) {
	g.t.Helper()
	if got != want {
		g.t.Errorf("%s: %.40q, not %q", what, got, want)
	}
}

// image is the machine's snapshot.
func (g *gateways) image() *bytes.Buffer {
	g.t.Helper()
	return bytes.NewBuffer(imageOf(g.t, g.Machine))
}

// become replaces the machine by one that is restored from a snapshot.
func (g *gateways) become(image io.Reader) {
	g.t.Helper()
	g.Machine = testMachine(g.t, g.replies)
	if err := g.Restore(image); err != nil {
		g.t.Fatal(err)
	}
}

// Outcomes as the recorder writes them.
const lostReply = "1 "

// stale is the outcome of a stale txn, with the known boot number of its gateway.
func stale(boot uint64) string { return "2 " + string(binary.AppendUvarint(nil, boot)) }

// bothWays runs a test on a machine that is never restarted, and on one that is restored from its
// snapshot at each call of reload.
func bothWays(t *testing.T, test func(t *testing.T, g *gateways, reload func())) {
	t.Run("without a snapshot", func(t *testing.T) { test(t, newGateways(t), func() {}) })
	t.Run("with a snapshot", func(t *testing.T) {
		g := newGateways(t)
		test(t, g, func() { g.become(g.image()) })
	})
}

func TestATxnOfAnEarlierBootDoesNotRun(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		before, after := Origin{Node: 5, Boot: 2, Lane: 1}, Origin{Node: 5, Boot: 3, Lane: 1}
		g.want("the first boot", g.ask(before, 0, 0, "incr", "n"), "0 :1\r\n")
		g.want("the second boot", g.ask(after, 0, 0, "incr", "n"), "0 :2\r\n")
		reload()
		g.want("the first boot, late", g.ask(before, 1, 0, "incr", "n"), stale(3))
		g.want("the first boot, again", g.ask(before, 0, 0, "incr", "n"), stale(3))
		g.want("the first boot, in another lane", g.ask(Origin{Node: 5, Boot: 2, Lane: 9}, 0, 0, "incr", "n"), stale(3))
		g.want("the second boot, again", g.ask(after, 0, 0, "incr", "n"), "0 :2\r\n")
		g.want("the second boot, anew", g.ask(after, 1, 0, "incr", "n"), "0 :3\r\n")
	})
}

func TestATxnThatItsGatewayGaveUpDoesNotRun(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		o := Origin{Node: 5, Boot: 2, Lane: 1}
		g.want("a later one", g.ask(o, 7, 5, "incr", "n"), "0 :1\r\n")
		reload()
		g.want("the one given up", g.ask(o, 4, 0, "incr", "n"), stale(2))
		g.want("the oldest that is not", g.ask(o, 5, 0, "incr", "n"), "0 :2\r\n")
	})
}

func TestATxnBeyondTheWindowDoesNotRun(t *testing.T) {
	g := newGateways(t)
	o := Origin{Node: 5, Boot: 2, Lane: 1}
	g.want("the last of the window", g.ask(o, 10+LaneWindow-1, 10, "incr", "n"), "0 :1\r\n")
	g.want("the one behind it", g.ask(o, 10+LaneWindow, 10, "incr", "n"), stale(2))
	g.want("the one behind it, when the window has moved", g.ask(o, 10+LaneWindow, 11, "incr", "n"), "0 :2\r\n")
	g.want("a lane that there is not", g.ask(Origin{Node: 5, Boot: 2, Lane: Lanes}, 0, 0, "incr", "n"), stale(2))
}

// TestNumbersThatMakeNoSenseLeaveNoTrace: a bundle with numbers that no gateway gives out does not
// run, and its gateway continues as if the bundle had not come. The machine once recorded such a
// bundle's acknowledgement and boot number before it checked the rest. After that no txn of the
// gateway ran any more.
func TestNumbersThatMakeNoSenseLeaveNoTrace(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		o := Origin{Node: 5, Boot: 2, Lane: 1}
		g.want("the gateway", g.ask(o, 3, 3, "incr", "n"), "0 :1\r\n")
		for name, b := range map[string]Bundle{
			"acknowledges what it sends":        {Origin: o, FirstSeq: 4, AckedBelow: 5},
			"acknowledges all":                  {Origin: o, FirstSeq: 4, AckedBelow: 1 << 63},
			"is too far ahead":                  {Origin: o, FirstSeq: 4 + LaneWindow, AckedBelow: 4},
			"counts beyond all numbers":         {Origin: o, FirstSeq: 1<<64 - 1, AckedBelow: 1<<64 - 1},
			"is of a lane that there is not":    {Origin: Origin{5, 3, Lanes}, FirstSeq: 0},
			"is of a boot that cannot be":       {Origin: Origin{5, 1<<64 - 1, 1}, FirstSeq: 0},
			"is of a boot in two hundred years": {Origin: Origin{5, (bootAheadMaxMs + 10_000_000) * 1000, 1}, FirstSeq: 0},
		} {
			g.want(name, g.ask(b.Origin, b.FirstSeq, b.AckedBelow, "incr", "n"), stale(2))
		}
		reload()
		g.want("the gateway, again", g.ask(o, 3, 3, "incr", "n"), "0 :1\r\n")
		g.want("the gateway, anew", g.ask(o, 4, 3, "incr", "n"), "0 :2\r\n")
		g.want("a gateway that was never there", g.ask(Origin{Node: 6, Boot: 1 << 63}, 0, 0, "incr", "n"), stale(0))
	})
}

// TestAGatewayCanAlwaysBeginAnew: for every boot number that was accepted there is a later one, and
// the log's time allows it a moment later.
func TestAGatewayCanAlwaysBeginAnew(t *testing.T) {
	boot := func(stampMs int64) uint64 { return (uint64(stampMs) + bootAheadMaxMs) * 1000 }
	for _, stampMs := range []int64{0, 1, 1_800_000_000_000} {
		last := boot(stampMs) + 999
		if !bootFits(last, stampMs) || bootFits(last+1, stampMs) || !bootFits(last+1, stampMs+1) {
			t.Errorf("at %d the last boot is not %d", stampMs, last)
		}
	}
	if reply := newDupTable().staleReply(9); StaleBoot(reply) != 0 || StaleBoot(nil) != 0 {
		t.Error(reply)
	}
	d := newDupTable()
	d.lane(&Bundle{Origin: Origin{9, 1 << 50, 0}, Txns: make([]Txn, 1)}, 1, 0)
	if got := StaleBoot(d.staleReply(9)); got != 1<<50 {
		t.Error(got)
	}
}

func TestTheGatewayThatIsSilentForLongestIsForgotten(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		of := func(node uint64) Origin { return Origin{Node: node, Boot: 1} }
		for node := range uint64(originsMax) {
			g.ask(of(node+1), 0, 0, "set", "k", "v", "get")
		}
		first := g.ask(of(1), 0, 0, "set", "k", "v", "get")
		reload()
		g.ask(of(originsMax+1), 0, 0, "set", "k", "new", "get")
		g.want("the first, which has spoken again", g.ask(of(1), 0, 0, "set", "k", "v", "get"), first)
		g.want("the third", g.ask(of(3), 0, 0, "set", "k", "v", "get"), "0 $1\r\nv\r\n")
		g.want("the second, which is forgotten", g.ask(of(2), 0, 0, "set", "k", "v", "get"), "0 $3\r\nnew\r\n")
	})
}

func TestALongReplyIsNotKept(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		const around = len("$16000\r\n\r\n")
		for i, length := range []int{replyKeptMax - around, replyKeptMax - around + 1} {
			o := Origin{Node: 5, Boot: 2, Lane: uint32(i)}
			text := strings.Repeat("x", length)
			g.ask(o, 0, 0, "set", "k", text)
			reply := g.ask(o, 1, 0, "getdel", "k")
			g.want("a kept reply", reply[len(reply)-5:], "xxx\r\n")
			reload()
			want := lostReply
			if i == 0 {
				want = reply
			}
			if got := g.ask(o, 1, 0, "getdel", "k"); got != want {
				t.Errorf("a reply of %d bytes: %.20q of %d, again %.20q of %d", len(reply)-2, reply, len(reply), got, len(got))
			}
		}
	})
}

// The table does not grow if the gateways acknowledge everything.
func TestTheDuplicateTableForgetsWhatIsAcknowledged(t *testing.T) {
	g := newGateways(t)
	o := Origin{Node: 5, Boot: 2, Lane: 1}
	for seq := range uint64(100) {
		g.ask(o, seq, seq, "incr", "n")
	}
	if l := g.state.Load().dup.origins[5].lanes[1]; len(l.records) != 1 || l.base != 99 {
		t.Errorf("%d records from %d on", len(l.records), l.base)
	}
	// Memory that is reused does not keep forgotten records.
	o.Lane = 2
	g.fill(o, 100)
	g.ask(o, 100, 100, "incr", "n")
	if l := g.state.Load().dup.origins[5].lanes[2]; seen(l.records[:cap(l.records)]) != 1 {
		t.Errorf("%d records are held", seen(l.records[:cap(l.records)]))
	}
}

// keptBytes is the length of a gateway's replies in the table.
func (g *gateways) keptBytes(node uint64) (n int) {
	for _, l := range g.state.Load().dup.origins[node].lanes {
		if l == nil {
			continue
		}
		for _, r := range l.records {
			if r != nil {
				n += len(r.reply)
			}
		}
	}
	return n
}

// longReply is a txn with a short request and about the longest reply that is kept. It counts how
// often it runs.
func longReply() Txn {
	return Txn{Kind: KindExec, Ops: append(txnOf(0, "incr", "ran").Ops, txnOf(0, "get", "long").Ops...)}
}

// fill runs longReply so many times, as one bundle, without acknowledging anything.
func (g *gateways) fill(o Origin, txns int) {
	g.t.Helper()
	b := Bundle{Origin: o}
	for range txns {
		b.Txns = append(b.Txns, longReply())
	}
	g.index++
	if err := g.Apply(g.index, entryOf(g.index, b)); err != nil {
		g.t.Fatal(err)
	}
	g.executed(g.index)
}

// A client needs only 40 bytes to ask for a reply of 16000. All lanes of a gateway keep their last
// bundle as long as the gateway is silent.
func TestTheRepliesKeptForAGatewayAreBoundInBytes(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		// 125 MiB of replies.
		const lanes, txns, bound = 8, 1024, 31 << 20
		g.ask(Origin{Node: 6, Boot: 1}, 0, 0, "set", "long", strings.Repeat("x", 16000))
		for lane := range uint32(lanes) {
			g.fill(Origin{Node: 5, Boot: 1, Lane: lane}, txns)
		}
		reload()
		if n := g.keptBytes(5); n > bound || n < repliesKeptBytes/2 {
			t.Errorf("%d bytes of replies are kept of %d txns, not up to %d", n, lanes*txns, bound)
		}
		first, last := Origin{Node: 5, Boot: 1}, Origin{Node: 5, Boot: 1, Lane: lanes - 1}
		if again := g.askTxn(first, 0, 0, longReply()); len(again) < 16000 {
			t.Errorf("the first txn, again: %.40q", again)
		}
		g.want("the last txn, again", g.askTxn(last, txns-1, 0, longReply()), lostReply)
		// If few records are held, a reply is kept, whatever other gateways do.
		o := Origin{Node: 5, Boot: 1, Lane: lanes}
		g.want("how often they ran", g.ask(o, 0, 0, "get", "ran"), "0 $4\r\n8192\r\n")
		g.want("how often they ran, again", g.ask(o, 0, 0, "get", "ran"), "0 $4\r\n8192\r\n")

		for lane := range uint32(lanes) {
			g.ask(Origin{Node: 5, Boot: 1, Lane: lane}, txns, txns, "incr", "n")
		}
		if n := g.keptBytes(5); n > 1<<10 {
			t.Errorf("%d bytes of replies are kept of what is acknowledged", n)
		}
		g.askTxn(o, 1, 0, longReply())
		if again := g.askTxn(o, 1, 0, longReply()); len(again) < 16000 {
			t.Errorf("behind what is acknowledged: %.40q", again)
		}
	})
}

// A restored replica keeps the same replies as the others.
func TestWhichRepliesAreKeptIsTheSameBehindASnapshot(t *testing.T) {
	images := make([][]byte, 0, 2)
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		o := Origin{Node: 5, Boot: 1}
		g.ask(Origin{Node: 6, Boot: 1}, 0, 0, "set", "long", strings.Repeat("x", 16000))
		g.fill(o, 600)
		// The window has holes, and no longer begins where it began.
		g.ask(o, 700, 100, "incr", "n")
		g.ask(Origin{Node: 5, Boot: 1, Lane: 3}, 4, 0, "incr", "n")
		reload()
		g.fill(Origin{Node: 5, Boot: 1, Lane: 1}, 100)
		images = append(images, g.image().Bytes())
	})
	if !bytes.Equal(images[0], images[1]) {
		t.Errorf("images of %d and %d bytes differ", len(images[0]), len(images[1]))
	}
}

// A reply that is too long to keep is copied only if a client waits for it.
func TestALongReplyIsCopiedForWhoWaits(t *testing.T) {
	long, short := []byte(strings.Repeat("x", 100)), []byte("short")
	for _, c := range []struct {
		name           string
		record         *dupRecord
		reply          []byte
		wanted, copied bool
	}{
		{"a long one that nobody waits for", &dupRecord{room: 10}, long, false, false},
		{"a long one that somebody waits for", &dupRecord{room: 10}, long, true, true},
		{"a short one that nobody waits for", &dupRecord{room: 10}, short, false, true},
		{"one without a record that nobody waits for", nil, short, false, false},
		{"one without a record that somebody waits for", nil, long, true, true},
	} {
		got := c.record.finish(c.reply, OutcomeDone, c.wanted)
		if c.copied != bytes.Equal(got, c.reply) || !c.copied && got != nil {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	r, later := &dupRecord{room: 10}, make(waitingReceiver, 2)
	r.answer(later, 0)
	r.answer(later, 1)
	r.finish(long, OutcomeDone, false)
	for range 2 {
		if got := <-later; got != string(long) {
			t.Errorf("who asked again gets %q", got)
		}
	}
}
