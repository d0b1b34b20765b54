package tracking

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockstep/engine/reply"
	"lockstep/fsm"
)

// ear records the messages to one client, one word per message.
type ear struct {
	mu    sync.Mutex
	heard []string
}

// Invalidate implements Listener.
func (e *ear) Invalidate(m *Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	word := "(all)"
	if m.keys != nil {
		word = strings.Join(m.keys, "+")
	}
	e.heard = append(e.heard, word)
}

func (e *ear) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := strings.Join(e.heard, " ")
	e.heard = nil
	return heard
}

func (e *ear) wants(t *testing.T, want string) {
	t.Helper()
	if got := e.take(); got != want {
		t.Errorf("told %q, not %q", got, want)
	}
}

const (
	node = 7
	boot = 3
)

func newTable(maxKeys int64) (*Table, fsm.Tracker) {
	t := New(node, maxKeys)
	return t, t.Shard(0)
}

func keys(names ...string) [][]byte {
	var list [][]byte
	for _, n := range names {
		if n == "(all)" {
			list = append(list, nil)
		} else {
			list = append(list, []byte(n))
		}
	}
	return list
}

func own(seq uint64) fsm.TxnID {
	return fsm.TxnID{Origin: fsm.Origin{Node: node, Boot: boot, Lane: 5}, Seq: seq}
}

func TestARegistrationIsUsedUpByTheFirstChange(t *testing.T) {
	table, shard := newTable(0)
	if shard.Tracking() {
		t.Error("tracks with nobody there")
	}
	var a, b ear
	table.Set(1, &a, Options{})
	table.Set(2, &b, Options{})
	table.Register(1, keys("x", "y", "x")...)
	table.Register(2, keys("x")...)
	if c := table.Counts(); c != (Counts{Clients: 2, Keys: 2, Items: 3}) || !shard.Tracking() {
		t.Errorf("%+v", c)
	}
	shard.Changed(own(1), keys("z", "x", "x", "y"))
	a.wants(t, "x y")
	b.wants(t, "x")
	shard.Changed(own(2), keys("x", "y"))
	a.wants(t, "")
	if c := table.Counts(); c != (Counts{Clients: 2}) {
		t.Errorf("%+v", c)
	}
}

func TestAllKeysAreEverybodysBusiness(t *testing.T) {
	table, shard := newTable(0)
	var a, b, c ear
	table.Set(1, &a, Options{})
	table.Set(2, &b, Options{BCast: true, Prefixes: []string{"q"}})
	table.Set(3, &c, Options{NoLoop: true})
	table.Register(1, keys("x")...)
	table.Sent(0, own(1), 3)
	shard.Changed(own(1), keys("x", "(all)", "q1"))
	a.wants(t, "x (all)")
	b.wants(t, "(all) q1")
	c.wants(t, "(all)")
	if n := table.Counts().Keys; n != 0 {
		t.Errorf("%d keys left", n)
	}
}

func TestPrefixesGetWhatBelongsToThem(t *testing.T) {
	table, shard := newTable(0)
	var a, b, every ear
	table.Set(1, &a, Options{BCast: true, Prefixes: []string{"user:", "z"}})
	table.Set(2, &b, Options{BCast: true, Prefixes: []string{"user:1"}})
	table.Set(3, &every, Options{BCast: true})
	if n := table.Counts().Prefixes; n != 4 {
		t.Errorf("%d prefixes", n)
	}
	shard.Changed(own(1), keys("user:2", "z", "user:1", "a", "user:2", "user", "user;"))
	a.wants(t, "user:1+user:2 z")
	b.wants(t, "user:1")
	every.wants(t, "a+user+user:1+user:2+user;+z")
	table.Remove(1)
	table.Remove(3)
	shard.Changed(own(2), keys("z", "user:2"))
	a.wants(t, "")
	every.wants(t, "")
	if c := table.Counts(); c != (Counts{Clients: 1, Prefixes: 1}) {
		t.Errorf("%+v", c)
	}
}

func TestNoLoopSparesTheAuthorAloneAndKeepsItsRegistration(t *testing.T) {
	table, shard := newTable(0)
	var a, b, c ear
	table.Set(1, &a, Options{NoLoop: true})
	table.Set(2, &b, Options{})
	table.Set(3, &c, Options{BCast: true, NoLoop: true})
	for seq, author := range map[uint64]uint64{1: 1, 2: 2, 3: 3} {
		table.Sent(0, own(seq), author)
	}
	for _, s := range []struct {
		by               fsm.TxnID
		wantA, wantB, wC string
	}{
		{own(1), "", "k", "k"},
		{own(2), "k", "k", "k"}, // the second client has no NOLOOP
		{own(3), "k", "k", ""},
		{own(4), "k", "k", "k"}, // of no known client
		{fsm.TxnID{Origin: fsm.Origin{Node: node, Boot: boot - 1, Lane: 5}, Seq: 1}, "k", "k", "k"},
		{fsm.TxnID{Origin: fsm.Origin{Node: node + 1, Boot: boot, Lane: 5}, Seq: 1}, "k", "k", "k"},
		{fsm.TxnID{Origin: fsm.Origin{Node: node, Boot: boot, Lane: 6}, Seq: 1}, "k", "k", "k"},
	} {
		table.Register(1, keys("k")...)
		table.Register(2, keys("k")...)
		shard.Changed(s.by, keys("k"))
		a.wants(t, s.wantA)
		b.wants(t, s.wantB)
		c.wants(t, s.wC)
		kept := 0
		if s.wantA == "" {
			kept = 1
		}
		if n := table.Counts(); n.Keys != kept || n.Items != kept {
			t.Errorf("behind %v: %+v", s.by, n)
		}
	}
	// In another shard the same number means another txn.
	table.Register(1, keys("k")...)
	table.Shard(1).Changed(own(1), keys("k"))
	a.wants(t, "k")
	// A client that has turned NOLOOP off is told about changes that were under way.
	table.Register(1, keys("k")...)
	table.Set(1, &a, Options{})
	shard.Changed(own(1), keys("k"))
	a.wants(t, "k")
}

func TestAuthorsAreForgottenFromTheOldest(t *testing.T) {
	table, shard := newTable(0)
	var a ear
	table.Set(1, &a, Options{NoLoop: true})
	for seq := range uint64(authorsMax + 2) {
		table.Sent(0, own(seq), 1)
	}
	for seq, want := range map[uint64]string{0: "k", 1: "k", 2: "", authorsMax + 1: ""} {
		table.Register(1, keys("k")...)
		shard.Changed(own(seq), keys("k"))
		a.wants(t, want)
	}
	if n := len(table.authors.by); n != authorsMax {
		t.Errorf("%d txns remembered", n)
	}
	table.Remove(1)
	if table.authors.by != nil || table.authors.some.Load() {
		t.Error("remembered for nobody")
	}
}

func TestTheTableKeepsItsBound(t *testing.T) {
	const most = 50
	table, shard := newTable(most)
	var a ear
	table.Set(1, &a, Options{})
	for i := range 4 * most {
		table.Register(1, []byte(fmt.Sprint(i)))
		if n := table.Counts().Keys; n > most {
			t.Fatalf("%d keys", n)
		}
	}
	told := strings.Fields(a.take())
	if len(told) != 3*most {
		t.Errorf("%d keys went, and their client was told of %d", 3*most, len(told))
	}
	// Keys without a message are still registered.
	for i := range 4 * most {
		shard.Changed(own(1), keys(fmt.Sprint(i)))
	}
	told = append(told, strings.Fields(a.take())...)
	slices.Sort(told)
	if told = slices.Compact(told); len(told) != 4*most {
		t.Errorf("told of %d keys in all", len(told))
	}
	for i := range most {
		table.Register(1, []byte(fmt.Sprint(i)))
	}
	table.SetMaxKeys(10)
	if n := table.Counts(); n.Keys != 10 || n.Items != 10 {
		t.Errorf("%+v", n)
	}
	if n := len(strings.Fields(a.take())); n != most-10 {
		t.Errorf("told of %d", n)
	}
	table.SetMaxKeys(0)
	table.Register(1, keys("a", "b", "c")...)
	if n := table.Counts().Keys; n != 13 {
		t.Errorf("%d keys without a limit", n)
	}
}

func TestClientsThatAreGoneAreSweptFromAKey(t *testing.T) {
	table, shard := newTable(0)
	var a, gone ear
	table.Set(1, &a, Options{})
	table.Register(1, keys("hot")...)
	for id := range uint64(10_000) {
		table.Set(id+2, &gone, Options{})
		table.Register(id+2, keys("hot")...)
		table.Remove(id + 2)
		if n := table.Counts().Items; n > 2*sweepFirst {
			t.Fatalf("%d holders of one key, one client", n)
		}
	}
	shard.Changed(own(1), keys("hot"))
	a.wants(t, "hot")
	gone.wants(t, "")
}

func TestTheLastClientTakesTheTableWithIt(t *testing.T) {
	table, shard := newTable(0)
	var a ear
	table.Set(1, &a, Options{})
	table.Register(1, keys("x", "y")...)
	table.Remove(1)
	table.Remove(1)
	if c := table.Counts(); c != (Counts{}) || shard.Tracking() {
		t.Errorf("%+v", c)
	}
}

func TestMessagesInBothProtocols(t *testing.T) {
	for want, m := range map[string]*Message{
		">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$0\r\n\r\n *3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*2\r\n$1\r\na\r\n$0\r\n\r\n": newMessage([]string{"a", ""}),
		">2\r\n$10\r\ninvalidate\r\n_\r\n *3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n$-1\r\n":                                           newMessage(nil),
	} {
		if got := string(m.Bytes(reply.RESP3)) + " " + string(m.Bytes(reply.RESP2)); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// Readers register, read and cache while writers change keys: in the end the cached values are the
// current ones. A client drops a key when its message comes.
func TestNothingStaleStaysWhereReadsAndChangesRace(t *testing.T) {
	table, shard := newTable(8)
	const clients, rounds, names = 4, 20_000, 16
	var store [names]struct {
		mu    sync.Mutex
		value int
	}
	caches := make([]*cache, clients)
	var wait sync.WaitGroup
	for i := range caches {
		caches[i] = &cache{values: map[string]int{}}
		table.Set(uint64(i+1), caches[i], Options{})
		wait.Go(func() {
			for n := range rounds {
				k := (n*7 + i) % names
				key := fmt.Sprint(k)
				caches[i].hold(func() {
					table.Register(uint64(i+1), []byte(key))
					store[k].mu.Lock()
					value := store[k].value
					store[k].mu.Unlock()
					caches[i].put(key, value)
				})
			}
		})
	}
	for w := range 2 {
		wait.Go(func() {
			for n := range rounds {
				k := (n*5 + w) % names
				store[k].mu.Lock()
				store[k].value++
				shard.Changed(own(uint64(n)), keys(fmt.Sprint(k)))
				store[k].mu.Unlock()
			}
		})
	}
	wait.Wait()
	cached := 0
	for i, c := range caches {
		cached += c.dropped
		for key, value := range c.values {
			cached++
			var k int
			fmt.Sscan(key, &k)
			if value != store[k].value {
				t.Errorf("client %d has %s=%d, there is %d", i, key, value, store[k].value)
			}
		}
	}
	if cached == 0 {
		t.Error("nothing was cached: the test shows nothing")
	}
}

// cache is a client whose pushes are held while it reads.
type cache struct {
	mu      sync.Mutex
	held    bool
	waiting []*Message
	values  map[string]int
	// dropped is how many values were dropped because of a message. If the writers come last, that
	// is all of them.
	dropped int
}

// Invalidate implements Listener.
func (c *cache) Invalidate(m *Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.waiting = append(c.waiting, m)
		return
	}
	for _, key := range m.keys {
		if _, there := c.values[key]; there {
			c.dropped++
			delete(c.values, key)
		}
	}
}

func (c *cache) hold(read func()) {
	c.mu.Lock()
	c.held = true
	c.mu.Unlock()
	read()
	c.mu.Lock()
	c.held = false
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, m := range waiting {
		c.Invalidate(m)
	}
}

func (c *cache) put(key string, value int) {
	c.mu.Lock()
	c.values[key] = value
	c.mu.Unlock()
}

// The length of all key names together is bounded, like their number.
func TestLongKeysAreForgotten(t *testing.T) {
	table, _ := newTable(0)
	table.maxBytes = 1000
	c := &ear{}
	table.Set(1, c, Options{})
	for i := range 50 {
		table.Register(1, []byte(fmt.Sprint(strings.Repeat("k", 100), i)))
	}
	if n := table.Counts().Keys; n > 10 || n < 9 {
		t.Errorf("%d keys of a hundred bytes are in the table", n)
	}
	table.Remove(1)
	if bytes := table.keys.bytes.Load(); bytes != 0 {
		t.Errorf("%d bytes are counted in the end", bytes)
	}
}
