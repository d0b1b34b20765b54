package fsm

import (
	"fmt"
	"strings"
	"testing"
)

// waitOf is a wait of a gateway's lane.
func waitOf(lane uint32, seq uint64) TxnID {
	return TxnID{Origin{Node: 5, Boot: 2, Lane: WaitLane + lane}, seq}
}

func serveOf(wait TxnID, how ServeHow, args ...string) Txn {
	t := txnOf(0, args...)
	t.Kind, t.Serve = KindServe, Serve{wait, how}
	return t
}

// serve puts a leader's KindServe into the log.
func (g *gateways) serve(wait TxnID, how ServeHow, args ...string) string {
	g.t.Helper()
	return g.askTxn(Origin{}, 0, 0, serveOf(wait, how, args...))
}

// do runs a command that is never retried.
func (g *gateways) do(args ...string) string {
	g.t.Helper()
	return g.askTxn(Origin{}, 0, 0, txnOf(0, args...))
}

const unservedReply = "4 "

// A wait is served once, however often its command enters the log, and on any replica.
func TestAWaitIsServedOnce(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		w := waitOf(0, 1)
		g.want("an empty list", g.serve(w, ServeComes, "blpop", "q", "0"), unservedReply)
		g.do("rpush", "q", "a", "b")
		reload()
		got := "0 *2\r\n$1\r\nq\r\n$1\r\na\r\n"
		g.want("a full one", g.serve(w, 0, "blpop", "q", "0"), got)
		reload()
		g.want("again", g.serve(w, 0, "blpop", "q", "0"), got)
		g.want("again, by another leader", g.serve(w, ServeComes|ServeLast, "blpop", "q", "0"), got)
		g.want("what became of it", g.serve(w, ServeLast|ServeSettles, "blpop", "q", "0"), got)
		g.want("the list", g.do("llen", "q"), "0 :1\r\n")
		g.want("the lane's next wait", g.serve(waitOf(0, 2), ServeComes, "blpop", "q", "0"), strings.Replace(got, "a", "b", 1))
		g.want("the one before it", g.serve(w, ServeComes, "blpop", "q", "0"), stale(2))
	})
}

// A wait that its gateway has ended is no longer served. Before that, a KindServe that finds
// nothing leaves the wait open.
func TestAWaitThatHasEndedTakesNothing(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		for lane, how := range map[uint32]ServeHow{1: ServeLast, 2: ServeLast | ServeSettles} {
			w, q := waitOf(lane, 7), fmt.Sprint("q", lane)
			g.want("an empty list", g.serve(w, how, "blpop", q, "0"), unservedReply)
			reload()
			g.do("rpush", q, "a")
			g.want("the end, again", g.serve(w, how, "blpop", q, "0"), unservedReply)
			g.want("a late one", g.serve(w, 0, "blpop", q, "0"), stale(2))
			g.want("the list", g.do("llen", q), "0 :1\r\n")
		}
		// Nothing is known about a wait that never existed.
		g.want("an unknown one", g.serve(waitOf(3, 1), ServeLast|ServeSettles, "blpop", "q1", "0"), unservedReply)
	})
}

// A wait has one command, and belongs to one process.
func TestWaitsOfNobodyAreNotServed(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		w := waitOf(0, 1)
		g.want("the first", g.serve(w, 0, "blpop", "p", "0"), unservedReply)
		reload()
		g.do("rpush", "q", "a")
		g.want("another command", g.serve(w, 0, "blpop", "q", "0"), stale(2))
		w.Boot--
		g.want("an earlier process", g.serve(w, 0, "blpop", "q", "0"), stale(2))
		w.Boot++
		for _, lane := range []uint32{0, Lanes, WaitLane - 1, WaitLane + WaitLanes} {
			w.Lane = lane
			g.want("a lane that is none for waits", g.serve(w, 0, "blpop", "q", "0"), stale(2))
		}
		g.want("the list", g.do("llen", "q"), "0 :1\r\n")
	})
}

// A key of another kind is an error to a new client, and counts as missing for a client that
// already waits. For a reader of a group it is an error if the stream is deleted.
func TestWhatIsNothingToAWaiter(t *testing.T) {
	g := newGateways(t)
	const wrong = "0 -WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
	g.do("set", "q", "text")
	g.want("the waiting client", g.serve(waitOf(0, 1), 0, "blpop", "q", "0"), unservedReply)
	g.want("the new client", g.serve(waitOf(0, 1), ServeComes, "blpop", "q", "0"), wrong)
	g.do("rpush", "src", "a")
	g.want("a client that may take, and not put", g.serve(waitOf(0, 2), 0, "blmove", "src", "q", "left", "left", "0"), wrong)
	g.do("xgroup", "create", "s", "g", "$", "mkstream")
	read := []string{"xreadgroup", "group", "g", "ann", "block", "0", "streams", "s", ">"}
	g.want("a group's reader", g.serve(waitOf(1, 1), 0, read...), unservedReply)
	g.do("del", "s")
	if got := g.serve(waitOf(1, 1), 0, read...); !strings.HasPrefix(got, "0 -NOGROUP") {
		t.Errorf("a group that has gone: %q", got)
	}
}

// A KindServe behind a txn of a bundle takes no number of the lane, and runs under that txn's
// ticket.
func TestAWaitIsServedBehindAWrite(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		o := Origin{Node: 6, Boot: 1, Lane: 3}
		bundle := Bundle{Origin: o, FirstSeq: 4, AckedBelow: 4, Txns: []Txn{txnOf(0, "rpush", "q", "a"), txnOf(0, "lpop", "q"), txnOf(0, "rpush", "q", "b")}}
		first, second := serveOf(waitOf(0, 1), 0, "blpop", "q", "0"), serveOf(waitOf(1, 1), 0, "blmove", "q", "r", "left", "left", "0")
		third := serveOf(waitOf(2, 1), 0, "blpop", "r", "0")
		b := NewEntryBuilder(7, EntryID{1, 1, 1}, 1000, 128)
		b.AddServing(AppendBundle(nil, &bundle), []Behind{{0, &first}, {2, &second}, {2, &third}})
		before := g.Sched().Stats().Tickets
		g.index++
		if err := g.Apply(g.index, b.Finish()); err != nil {
			t.Fatal(err)
		}
		g.executed(g.index)
		if got := g.Sched().Stats().Tickets - before; got != 3 {
			t.Errorf("%d tickets for 3 txns and those behind them", got)
		}
		replies := g.replies.replies[EntryID{1, 1, 1}]
		for i, want := range []string{"0 :1\r\n", "0 *2\r\n$1\r\nq\r\n$1\r\na\r\n", "0 $-1\r\n", "0 :1\r\n", "0 $1\r\nb\r\n", "0 *2\r\n$1\r\nr\r\n$1\r\nb\r\n"} {
			g.want(fmt.Sprint("txn ", i), replies[i], want)
		}
		reload()
		for i, want := range []string{"0 :1\r\n", "0 $-1\r\n", "0 :1\r\n"} {
			g.want("the bundle, again", g.askTxn(o, 4+uint64(i), 4, bundle.Txns[i]), want)
		}
		g.want("a new txn of the lane", g.ask(o, 7, 4, "llen", "q"), "0 :0\r\n")
		g.want("a wait, again", g.serve(waitOf(1, 1), 0, "blmove", "q", "r", "left", "left", "0"), "0 $1\r\nb\r\n")
	})
}

// A wait is also served behind a write that does not run because it ran before.
func TestAWaitBehindARepeatedWriteIsServed(t *testing.T) {
	g := newGateways(t)
	o := Origin{Node: 6, Boot: 1, Lane: 3}
	g.ask(o, 0, 0, "rpush", "q", "a")
	g.index++
	bundle := Bundle{Origin: o, Txns: []Txn{txnOf(0, "rpush", "q", "a"), serveOf(waitOf(0, 1), 0, "blpop", "q", "0")}}
	if err := g.Apply(g.index, entryOf(g.index, bundle)); err != nil {
		t.Fatal(err)
	}
	g.executed(g.index)
	replies := g.replies.replies[EntryID{1, 1, g.index}]
	g.want("the write", replies[0], "0 :1\r\n")
	g.want("the wait", replies[1], "0 *2\r\n$1\r\nq\r\n$1\r\na\r\n")
	g.want("the list", g.do("llen", "q"), "0 :0\r\n")
}

// Only a leader serves waits, and only commands that wait are served.
func TestGatewaysServeNoWaits(t *testing.T) {
	serve := serveOf(waitOf(0, 1), 0, "blpop", "q", "0")
	if CheckCalls([]Txn{serve}) == nil || CheckReads([]Txn{serve}) == nil {
		t.Error("a gateway may serve waits")
	}
	set := serveOf(waitOf(0, 1), 0, "set", "k", "v")
	if set.check() == nil {
		t.Error("a SET is served")
	}
}
