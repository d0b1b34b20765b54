package shard

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/fsm"
)

// waiting is a shard of one node, with clients of its gateways that wait there.
type waiting struct {
	*shardWorld
	*Shard
	n   *testNode
	seq atomic.Uint64
}

func newWaiting(t *testing.T) *waiting {
	w := &waiting{shardWorld: newShardWorld(t, 1, steady)}
	w.on(w.nodes[0])
	return w
}

// on continues with the leader n.
func (w *waiting) on(n *testNode) {
	w.shardWorld.t.Helper()
	w.until("it serves", n.shard.Leads)
	w.n, w.Shard = n, n.shard
}

// client is a client that waits.
type client struct {
	w    *waiting
	req  Wait
	road Road
}

// client returns a client of a gateway, with a blocking command.
func (w *waiting) client(command string) *client {
	n := w.seq.Add(1)
	id := fsm.TxnID{Origin: fsm.Origin{Node: 9, Boot: 1, Lane: fsm.WaitLane + uint32(n)}, Seq: n}
	return &client{w: w, req: Wait{ID: id, Txn: commandTxn(strings.Fields(command)...)}}
}

// ask sends the client's request; the answer arrives on the channel.
func (c *client) ask() chan Result {
	told := make(chan Result, 1)
	c.w.Wait(c.req, c.road, func(r Result) { told <- r })
	return told
}

// waits makes the client wait: its first request says that it waits, then it asks again.
func (c *client) waits() chan Result {
	c.w.shardWorld.t.Helper()
	c.want("a client that comes", c.ask(), "to renew")
	return c.ask()
}

// waits makes a new client wait with a blocking command.
func (w *waiting) waits(command string) chan Result {
	w.shardWorld.t.Helper()
	return w.client(command).waits()
}

func (c *client) want(what string, told chan Result, want string) {
	c.w.shardWorld.t.Helper()
	c.w.want(what, told, want)
}

// said describes a result in a few words.
func said(r Result) string {
	for err, text := range map[error]string{
		ErrRenew: "to renew", ErrTurn: "to try", ErrAtOnce: "to try at once", ErrLeft: "it left", cluster.ErrNotLeader: "no leader",
		cluster.ErrUnknown: "unknown", cluster.ErrOverloaded: "overloaded",
	} {
		if errors.Is(r.Err, err) {
			return text
		}
	}
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.Replies[0].Outcome == fsm.OutcomeUnserved:
		return "nothing"
	case r.Replies[0].Outcome != fsm.OutcomeDone:
		return fmt.Sprint("outcome ", r.Replies[0].Outcome)
	}
	return strings.Join(strings.Fields(string(r.Replies[0].Bytes)), " ")
}

func (w *waiting) want(what string, told chan Result, want string) {
	w.shardWorld.t.Helper()
	select {
	case r := <-told:
		if got := said(r); got != want {
			w.shardWorld.t.Fatalf("%s: told %q, not %q", what, got, want)
		}
	case <-time.After(patience):
		w.shardWorld.t.Fatalf("%s: told nothing", what)
	}
}

// silent checks that a waiting client has no answer after everything under way is done.
func (w *waiting) silent(what string, told chan Result) {
	w.shardWorld.t.Helper()
	w.settled()
	select {
	case r := <-told:
		w.shardWorld.t.Fatalf("%s: told %q", what, said(r))
	default:
	}
}

// settled waits until nothing is under way for waiting clients.
func (w *waiting) settled() {
	w.shardWorld.t.Helper()
	w.until("nothing is under way", func() bool {
		w.waiters.table.mu.Lock()
		defer w.waiters.table.mu.Unlock()
		for _, x := range w.waiters.table.byID {
			if x.flying > 0 {
				return false
			}
		}
		for _, q := range w.waiters.table.keys {
			if q.looking {
				return false
			}
		}
		return true
	})
}

// do runs a command and returns its reply.
func (w *waiting) do(command string) string {
	w.shardWorld.t.Helper()
	select {
	case r := <-w.shardWorld.propose(w.n, strings.Fields(command)...):
		return said(r)
	case <-time.After(patience):
		w.shardWorld.t.Fatalf("%s: no answer", command)
		return ""
	}
}

// exec runs commands as one bundle: a transaction, or one txn each.
func (w *waiting) exec(kind fsm.Kind, commands ...string) []string {
	w.shardWorld.t.Helper()
	b := fsm.Bundle{Origin: fsm.Origin{Node: 9, Boot: 1}, FirstSeq: w.shardWorld.seq.Add(uint64(len(commands))) - uint64(len(commands)) + 1}
	for _, c := range commands {
		b.Txns = append(b.Txns, commandTxn(strings.Fields(c)...))
	}
	if kind == fsm.KindExec {
		all := fsm.Txn{Kind: kind, Proto: 2}
		for i := range b.Txns {
			all.Ops = append(all.Ops, b.Txns[i].Ops...)
		}
		b.Txns = []fsm.Txn{all}
	}
	answer := make(chan Result, 1)
	w.Propose(Offer{Bundle: fsm.AppendBundle(nil, &b), Txns: b.Txns, Until: time.Now().Add(patience)}, func(r Result) { answer <- r })
	r := <-answer
	if r.Err != nil {
		w.shardWorld.t.Fatal(r.Err)
	}
	var all []string
	for _, reply := range r.Replies {
		all = append(all, said(Result{Replies: []Reply{reply}}))
	}
	return all
}

func (w *waiting) same(what string, got, want any) {
	w.shardWorld.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.shardWorld.t.Errorf("%s: %q, not %q", what, fmt.Sprint(got), fmt.Sprint(want))
	}
}

// popped is the reply of BLPOP.
func popped(key, element string) string {
	return fmt.Sprintf("*2 $%d %s $%d %s", len(key), key, len(element), element)
}

// reads makes the client's gateway read its next command into the memory of the waiting one, as it
// does when it no longer waits.
func (c *client) reads(command string) {
	args := c.req.Txn.Ops[0].Args
	for i, word := range strings.Fields(command) {
		copy(args[i], word)
		args[i] = []byte(word)
	}
}

// A waiting command has memory of its own: its gateway may have given up the wait, and the
// gateway's memory holds another command when the wait is served.
func TestAWaitOutlivesItsGatewaysMemory(t *testing.T) {
	w := newWaiting(t)
	c := w.client("blpop q 0")
	told := c.waits()
	c.reads("eval x 0")
	w.do("rpush q a")
	c.want("a client that waits", told, popped("q", "a"))

	last := w.client("blpop q 0")
	last.req.Last = true
	told = last.ask()
	last.reads("eval x 0")
	last.want("a client that asks for the last time", told, "nothing")
}

// A waiting client has its element when the push is answered: no client sees the list filled, and
// the pusher cannot take the element.
func TestWhoWaitsIsServedBehindThePush(t *testing.T) {
	w := newWaiting(t)
	for i := range 200 {
		got := w.waits("blpop q 0")
		w.same("RPUSH", w.do(fmt.Sprint("rpush q ", i)), ":1")
		w.same("LLEN", w.do("llen q"), ":0")
		w.same("LPOP", w.do("lpop q"), "$-1")
		w.want("who waited", got, popped("q", fmt.Sprint(i)))
	}
	// The same in one pipeline.
	got := w.waits("blpop q 0")
	w.same("a pipeline", w.exec(fsm.KindCommand, "rpush q a", "lpop q", "rpush q b", "llen q"), "[:1 $-1 :1 :1]")
	w.want("who waited", got, popped("q", "a"))
}

// The oldest client is served first, and as many clients as there are elements.
func TestOnePushServesAsManyAsItCan(t *testing.T) {
	w := newWaiting(t)
	var all []chan Result
	for range 5 {
		all = append(all, w.waits("blpop p q 0"))
	}
	w.same("RPUSH", w.do("rpush q a b c"), ":3")
	w.same("LLEN", w.do("llen q"), ":0")
	for i, element := range []string{"a", "b", "c"} {
		w.want(fmt.Sprint("client ", i), all[i], popped("q", element))
	}
	w.silent("the fourth", all[3])
	// A transaction fills both lists, and takes some of the elements.
	w.exec(fsm.KindExec, "rpush p d", "rpush q e", "lpop p", "rpush q f g")
	w.want("the fourth", all[3], popped("q", "e"))
	w.want("the fifth", all[4], popped("q", "f"))
	w.same("what is left", w.do("lrange q 0 -1"), "*1 $1 g")
	w.do("del q")
	// One client takes several elements.
	many, one := w.waits("blmpop 0 1 q left count 2"), w.waits("brpop q 0")
	w.do("rpush q a b c d")
	w.want("who takes two", many, "*2 $1 q *2 $1 a $1 b")
	w.want("who takes one", one, popped("q", "d"))
	w.same("what is left", w.do("lrange q 0 -1"), "*1 $1 c")
}

// An element that a waiting client moves serves the clients that wait for it there.
func TestWaitersServeWaiters(t *testing.T) {
	w := newWaiting(t)
	last := w.waits("blpop c 0")
	second, first := w.waits("blmove b c left right 0"), w.waits("brpoplpush a b 0")
	w.same("RPUSH", w.do("rpush a x"), ":1")
	w.same("what is left", w.do("exists a b c"), ":0")
	for _, told := range []chan Result{first, second} {
		w.want("who moves", told, "$1 x")
	}
	w.want("who takes", last, popped("c", "x"))
	// Two waiting clients move elements in a circle.
	one, other := w.waits("blmove a b left right 0"), w.waits("blmove b a left right 0")
	w.do("rpush a x")
	w.want("there", one, "$1 x")
	w.want("and back", other, "$1 x")
	w.same("where it came from", w.do("lrange a 0 -1"), "*1 $1 x")
}

// Clients wait for sorted sets, and for streams as readers of groups, each group by itself.
func TestOtherKindsAreServedBehindTheWrite(t *testing.T) {
	w := newWaiting(t)
	least, most := w.waits("bzpopmin z 0"), w.waits("bzmpop 0 1 z max")
	w.same("ZADD", w.do("zadd z 1 a 2 b 3 c"), ":3")
	w.same("ZCARD", w.do("zcard z"), ":1")
	w.want("the least", least, "*3 $1 z $1 a $1 1")
	w.want("the most", most, "*2 $1 z *1 *2 $1 c $1 3")
	for _, g := range []string{"g", "h"} {
		w.do("xgroup create s " + g + " $ mkstream")
	}
	group := func(name string) chan Result {
		return w.waits("xreadgroup group " + name + " ann count 1 block 0 streams s >")
	}
	of := []chan Result{group("g"), group("g"), group("h")}
	w.do("xadd s 1-1 f v")
	for _, i := range []int{0, 2} {
		w.want(fmt.Sprint("reader ", i), of[i], "*1 *2 $1 s *1 *2 $3 1-1 *2 $1 f $1 v")
	}
	w.silent("the second of a group", of[1])
	w.do("xadd s 2-1 f v")
	w.want("the second of a group", of[1], "*1 *2 $1 s *1 *2 $3 2-1 *2 $1 f $1 v")
	w.same("what is not delivered to the other", w.do("xreadgroup group h bob count 5 streams s >"), "*1 *2 $1 s *1 *2 $3 2-1 *2 $1 f $1 v")
	// If a group is destroyed, all its waiting clients learn that.
	of = []chan Result{group("g"), group("g")}
	w.do("xgroup destroy s g")
	for _, told := range of {
		if got := said(<-told); !strings.HasPrefix(got, "-NOGROUP") {
			t.Errorf("when the group has gone: %s", got)
		}
	}
}

// If the arguments do not show that a key is filled, its waiting clients are served as soon as the
// write has run.
func TestWhatIsNotSeenComingServesAllTheSame(t *testing.T) {
	w := newWaiting(t)
	all := func() (told []chan Result) {
		for range 3 {
			told = append(told, w.waits("blpop q 0"))
		}
		return told
	}
	served := func(what string, told []chan Result, elements ...string) {
		t.Helper()
		for i, e := range elements {
			w.want(what, told[i], popped("q", e))
		}
	}
	script := func(text string, more ...string) {
		t.Helper()
		txn := commandTxn(append([]string{"eval", text}, more...)...)
		b := fsm.Bundle{Origin: fsm.Origin{Node: 9, Boot: 1, Lane: 1}, FirstSeq: w.shardWorld.seq.Add(1), Txns: []fsm.Txn{txn}}
		answer := make(chan Result, 1)
		w.Propose(Offer{Bundle: fsm.AppendBundle(nil, &b), Txns: b.Txns, Until: time.Now().Add(patience)}, func(r Result) { answer <- r })
		w.same("a script", said(<-answer), ":3")
	}
	told := all()
	script("return redis.call('rpush', 'q', 'a', 'b', 'c')", "0")
	served("keys that a script does not name", told, "a", "b", "c")
	told = all()
	script("return redis.call('rpush', KEYS[1], 'a', 'b', 'c')", "1", "q")
	w.same("LLEN", w.do("llen q"), ":0")
	served("keys that a script names", told, "a", "b", "c")
	told = all()
	w.do("rpush other a b c")
	w.do("rename other q")
	w.same("LLEN", w.do("llen q"), ":0")
	served("a list that was renamed", told, "a", "b", "c")
	told = all()
	w.exec(fsm.KindCommand, "rpush other a b c", "copy other q db 1", "swapdb 0 1")
	served("a database that was swapped", told, "a", "b", "c")
}

// A push that fails serves no client, and the waiting clients keep their places.
func TestAPushThatFailsLeavesTheOrder(t *testing.T) {
	w := newWaiting(t)
	first, second := w.waits("blpop q 0"), w.waits("blpop q 0")
	w.do("set q text")
	w.same("RPUSH to a string", w.do("rpush q x")[:10], "-WRONGTYPE")
	w.do("del q")
	w.exec(fsm.KindExec, "rpush q a", "del q")
	w.do("rpush q b")
	w.want("the first", first, popped("q", "b"))
	w.silent("the second", second)
	w.do("rpush q c")
	w.want("the second", second, popped("q", "c"))
}

// A new client is served at once if possible, and gets an error for a value of another kind.
// Clients that already wait ignore such a value.
func TestNewcomersAreServedWhatIsThere(t *testing.T) {
	w := newWaiting(t)
	w.do("rpush list a b")
	w.want("of a list", w.client("blpop none list 0").ask(), popped("list", "a"))
	waiter := w.waits("blpop h 0")
	w.do("hset h f v")
	if got := said(<-w.client("blpop h 0").ask()); !strings.HasPrefix(got, "-WRONGTYPE") {
		t.Errorf("of a hash: %s", got)
	}
	w.silent("who waited before", waiter)
	if got := said(<-w.client("xreadgroup group g ann block 0 streams none >").ask()); !strings.HasPrefix(got, "-NOGROUP") {
		t.Errorf("without a group: %s", got)
	}
	w.do("rpush src x")
	if got := said(<-w.client("blmove src h left left 0").ask()); !strings.HasPrefix(got, "-WRONGTYPE") {
		t.Errorf("into a hash: %s", got)
	}
	w.same("what was to be moved", w.do("llen src"), ":1")
}

// Many new clients find a list with as many elements: each takes one.
func TestManyNewcomersShareAList(t *testing.T) {
	w := newWaiting(t)
	const n = 500
	elements := make([]string, n)
	for i := range elements {
		elements[i] = fmt.Sprint("e", i)
	}
	w.do("rpush q " + strings.Join(elements, " "))
	told := make([]chan Result, n+1)
	for i := range told {
		told[i] = w.client("blpop q 0").ask()
	}
	got := map[string]bool{}
	nothing := 0
	for _, c := range told {
		if text := said(<-c); text == "to renew" {
			nothing++
		} else {
			got[text] = true
		}
	}
	if len(got) != n || nothing != 1 {
		t.Errorf("%d elements went to %d clients; %d wait", n, len(got), nothing)
	}
}

// The end of a wait is final: an element that comes later stays in the list, and one that came just
// before belongs to the client.
func TestAWaitThatEndsLosesNothing(t *testing.T) {
	w := newWaiting(t)
	for i := range 200 {
		c := w.client("blpop q 0")
		told := c.waits()
		c.req.Last = true
		pushed := w.shardWorld.propose(w.n, "rpush", "q", fmt.Sprint(i))
		last := c.ask()
		// The push may have served the wait before the last request came. Then both requests get
		// the element.
		before := said(<-told)
		if before != "to renew" && before != popped("q", fmt.Sprint(i)) {
			t.Fatalf("the request before is told %q", before)
		}
		<-pushed
		switch got := said(<-last); got {
		case popped("q", fmt.Sprint(i)):
			w.same("LPOP", w.do("lpop q"), "$-1")
		case "nothing":
			w.same("the request before", before, "to renew")
			w.same("LPOP", w.do("lpop q"), fmt.Sprintf("$%d %d", len(fmt.Sprint(i)), i))
		default:
			t.Fatal(got)
		}
	}
	if w.Waiting() != 0 || w.waiters.table.places != 0 || w.waiters.table.bytes != 0 || len(w.waiters.table.keys) != 0 {
		t.Errorf("%d waiters, %d places, %d bytes, %d keys are left", w.Waiting(), w.waiters.table.places, w.waiters.table.bytes, len(w.waiters.table.keys))
	}
}

// A reply that came while the gateway had no request open waits for the next request. A leader that
// does not know the wait, or no longer does, learns its outcome from the log.
func TestWhatBecameOfAWaitIsTold(t *testing.T) {
	w := newWaiting(t)
	c := w.client("blpop q 0")
	w.want("a client that comes", c.ask(), "to renew")
	w.do("rpush q a")
	w.want("the next request", c.ask(), popped("q", "a"))
	w.do("rpush q b")
	c.req.Again = true
	w.want("another one", c.ask(), popped("q", "a"))
	w.same("LLEN", w.do("llen q"), ":1")
	c.req.Last, c.req.Settles = true, true
	w.want("the end", c.ask(), popped("q", "a"))

	// The leader does not know these waits; for the first there is an element, for the second there
	// is none.
	c = w.client("blpop q 0")
	c.req.Last, c.req.Settles = true, true
	w.want("a client that is let go", c.ask(), "nothing")
	c = w.client("blpop q 0")
	c.req.Last = true
	w.want("a client that has no time left", c.ask(), popped("q", "b"))
	c = w.client("blpop q 0")
	c.req.Last = true
	w.want("a client that has no time left, and nothing is there", c.ask(), "nothing")
	w.do("rpush q c")
	w.want("the same again", c.ask(), "nothing")
	w.same("LLEN", w.do("llen q"), ":1")
}

// A client that has gone leaves nothing behind, and its request ends.
func TestWhoHasGoneTakesNothing(t *testing.T) {
	w := newWaiting(t)
	c := w.client("blpop q 0")
	told := c.waits()
	next := w.waits("blpop q 0")
	w.LeaveWait(c.req.ID)
	w.want("a client that has gone", told, "to renew")
	w.do("rpush q a")
	w.want("the next", next, popped("q", "a"))
	if w.Waiting() != 0 {
		t.Errorf("%d wait", w.Waiting())
	}
}

// quiet is a gateway that has been silent for a time.
type quiet struct{ time.Duration }

func (q *quiet) SilentFor() time.Duration { return q.Duration }

// The clients of a silent gateway are passed over, and are served when the gateway is heard again.
func TestWhoseGatewayIsGoneIsPassedOver(t *testing.T) {
	w := newWaiting(t)
	first := w.client("blpop q 0")
	road := &quiet{}
	first.road = road
	told := first.waits()
	second := w.waits("blpop q 0")
	road.Duration = 2 * quietMax
	w.do("rpush q a b")
	w.want("the second", second, popped("q", "a"))
	w.silent("the first", told)
	road.Duration = 0
	// The gateway has a new connection.
	again := first.ask()
	w.want("the first, by its old request", told, "to renew")
	w.want("the first", again, popped("q", "b"))
}

// Waits are renewed, and those of gateways that are gone are dropped.
func TestWaitsThatLastLong(t *testing.T) {
	w := newWaiting(t)
	c := w.client("blpop q 0")
	told := c.waits()
	reader := w.client("xread block 0 streams s 0")
	read := reader.waits()
	later := func() { w.waiters.sweep(time.Now().Add(renewEvery + time.Second)) }
	later()
	w.want("to renew", told, "to renew")
	w.want("to renew", read, "to renew")
	told = c.ask()
	w.do("rpush q a")
	w.want("a client that has renewed", told, popped("q", "a"))
	// The reader has not asked again, and this client does not fetch its result either.
	c = w.client("blpop q 0")
	w.want("a client that comes", c.ask(), "to renew")
	w.do("rpush q b")
	w.settled()
	later()
	if w.Waiting() != 0 || w.waiters.table.bytes != 0 || w.waiters.table.places != 0 {
		t.Errorf("%d waiters of gateways that are gone, %d bytes, %d places", w.Waiting(), w.waiters.table.bytes, w.waiters.table.places)
	}
	c.req.Again = true
	w.want("who was forgotten", c.ask(), popped("q", "b"))
}

// A node that no longer leads ends all waits.
func TestLostLeadershipEndsWaits(t *testing.T) {
	w := newWaiting(t)
	told := w.waits("blpop q 0")
	term := w.readyTerm.Load()
	w.Shard.lost(term)
	w.want("the waiter", told, "unknown")
	w.want("one that comes late", w.client("blpop q 0").ask(), "no leader")
	w.want("one that ends late", (&client{w: w, req: Wait{Last: true, Txn: commandTxn("blpop", "q", "0")}}).ask(), "no leader")
}

// A leader without a quorum does not answer that nothing came: another leader may have served the
// client.
func TestNothingIsAnAnswerOfALeaderOnly(t *testing.T) {
	t.Parallel()
	sw, old, rest := deposed(t)
	w := &waiting{shardWorld: sw, Shard: old.shard, n: old}
	c := w.client("blpop q 0")
	told := c.waits()
	old.group.lease.TurnOff(old.group.Term())
	c.req.Last = true
	w.want("whose time is over", c.ask(), "it left")
	w.want("its request before", told, "to renew")
	w.want("a client that comes late", (&client{w: w, req: Wait{ID: w.client("blpop q 0").req.ID, Txn: commandTxn("blpop", "q", "0")}}).ask(), "to renew")
	_ = rest
}

// Two requests of one waiter may arrive at the same time, over a broken connection and over the
// next one: the waiter is in each queue once.
func TestAWaiterComesOnce(t *testing.T) {
	w := newWaiting(t)
	c := w.client("blpop a 0")
	one := c.waits()
	two := c.ask()
	w.want("the first request", one, "to renew")
	next := w.waits("blpop a 0")
	w.LeaveWait(c.req.ID)
	w.want("the second request", two, "to renew")
	w.do("rpush a x")
	w.want("the next waiter", next, popped("a", "x"))
}

// Clients that wait for one kind of value are not delayed by those that wait for another kind.
func TestWaitersOfAnotherKindAreLeftAlone(t *testing.T) {
	w := newWaiting(t)
	list, set := w.waits("blpop k 0"), w.waits("bzpopmin k 0")
	w.do("zadd k 1 a")
	w.want("a client that waits for a sorted set", set, "*3 $1 k $1 a $1 1")
	w.silent("a client that waits for a list", list)
	w.do("rpush k x")
	w.want("a client that waits for a list", list, popped("k", "x"))
}

// TestManySwapsAreOneLook: however often databases are swapped, their keys are checked once, or
// once more. Once, each swap delayed the log while it listed the keys, and gave the list to a
// goroutine of its own.
func TestManySwapsAreOneLook(t *testing.T) {
	const n, swaps = 20_000, 2000
	w := newWaiting(t)
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprint("key", i))
	}
	told := w.waits("blpop " + strings.Join(keys, " ") + " 0")
	w.settled()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range swaps {
		w.waiters.looker.swapped(0)
	}
	runtime.ReadMemStats(&after)
	// A list has some thirty bytes per key. During the swaps the keys may be checked several times.
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*swaps*n {
		t.Errorf("%d swaps allocated %d MB", swaps, got>>20)
	}
	w.exec(fsm.KindExec, "copy nothing nothing2", "swapdb 0 1")
	w.silent("a client that waits", told)
	w.exec(fsm.KindExec, "swapdb 0 1")
	w.do("rpush key7 x")
	w.want("a client that waits", told, popped("key7", "x"))
}

// The log ends a wait whose requests went two ways: a request that arrives after the end takes
// nothing, and the client behind it is served.
func TestARequestThatArrivesBehindTheEndOfItsWaitTakesNothing(t *testing.T) {
	w := newWaiting(t)
	c := w.client("blpop q 0")
	open := c.waits()
	late := c.req
	c.req.Again, c.req.Last, c.req.TwoWays = true, true, true
	c.want("the end", c.ask(), "nothing")
	c.want("the request before", open, "to renew")
	c.req = late
	c.ask()
	next := w.waits("blpop q 0")
	w.same("RPUSH", w.do("rpush q x"), ":1")
	w.want("who came behind it", next, popped("q", "x"))
}
