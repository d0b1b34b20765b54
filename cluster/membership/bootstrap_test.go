package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/cluster/meta"
)

func here(name string, expect int) Presence {
	return Presence{ID: meta.NodeID(name + ".1"), Name: name, Expect: expect, Join: []string{"all:1"}}
}

func sees(addr string, p Presence) probe { return probe{addr: addr, Presence: p} }

func TestTheRuleOfFounding(t *testing.T) {
	a, b, c := sees("1", here("a", 3)), sees("2", here("b", 3)), sees("3", here("c", 3))
	silent := probe{addr: "3", err: errors.New("connection refused")}
	other := c
	other.Expect = 5
	elsewhere := c
	elsewhere.Join = []string{"others:1"}
	without := c
	without.Expect = 0
	twin := sees("3", Presence{ID: "b.2", Name: "b", Expect: 3, Join: a.Join})
	member, stranger := c, b
	member.ClusterID, stranger.ClusterID = "c1", "c2"
	for _, test := range []struct {
		what  string
		self  Presence
		seen  []probe
		join  string
		found bool
		loud  bool
		wait  string
	}{
		{"all there, lowest", a.Presence, []probe{a, b, c}, "", true, false, ""},
		{"it does not see itself", a.Presence, []probe{b, c}, "", true, false, ""},
		{"all there, not lowest", b.Presence, []probe{a, b, c}, "", false, false, "a has the lowest name"},
		{"one of three", a.Presence, []probe{a}, "", false, false, "1 of 3 expected nodes are there: a"},
		{"one is silent", a.Presence, []probe{a, b, silent}, "", false, false, "3 (connection refused)"},
		{"three and one silent", a.Presence, []probe{a, b, c, silent}, "", false, false, "may belong to a cluster"},
		{"a member", a.Presence, []probe{a, b, member}, "3", false, false, ""},
		{"a member, the rest is silent", a.Presence, []probe{silent, member}, "3", false, false, ""},
		{"two clusters", a.Presence, []probe{stranger, member}, "", false, true, "2 different clusters"},
		{"other numbers", a.Presence, []probe{b, other}, "", false, true, "c has bootstrap-expect 5, and this node 3"},
		{"other lists", a.Presence, []probe{b, elsewhere}, "", false, true, "c was told to ask others:1, and this node all:1"},
		{"no number", a.Presence, []probe{b, without}, "", false, true, "c was started without bootstrap-expect"},
		{"one name twice", a.Presence, []probe{b, twin}, "", false, true, "two nodes are called b (b.1, b.2)"},
		{"too many", a.Presence, []probe{b, c, sees("4", here("d", 3))}, "", false, true, "4 nodes are there (a,b,c,d), but bootstrap-expect is 3"},
	} {
		d := decide(test.self, test.seen)
		if strings.Join(d.join, ",") != test.join || d.found != test.found || d.loud != test.loud || !strings.Contains(d.wait, test.wait) || (test.wait == "") != (d.wait == "") {
			t.Errorf("%s: %+v", test.what, d)
		}
	}
}

// field is a set of nodes that look for one another over bad links.
type field struct {
	t     *testing.T
	mu    sync.Mutex
	rng   *rand.Rand
	drops int // per 100 calls
	nodes map[string]*founder
	// cut are addresses that no node reaches.
	cut map[string]bool
	// hides is how many addresses of 100 a look-up leaves out at random.
	hides int
	// views are fixed results of the look-up for single nodes, by name.
	views map[string][]string
}

// founder is one node; promised stands for its folder.
type founder struct {
	f         *field
	name      string
	addr      string
	bootstrap *Bootstrap
	promised  string
	// cluster is set once it belongs to one.
	cluster string
}

func newField(t *testing.T, nodes int) *field {
	f := &field{t: t, rng: rand.New(rand.NewPCG(1, uint64(nodes))), nodes: map[string]*founder{}, cut: map[string]bool{}}
	for i := range nodes {
		n := &founder{f: f, name: fmt.Sprintf("n%d", i), addr: fmt.Sprintf("10.0.0.%d:1", i)}
		f.nodes[n.addr] = n
	}
	return f
}

// Promised and Promise implement PromiseStore.
func (n *founder) Promised() string {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	return n.promised
}

func (n *founder) Promise(name string) error {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	n.promised = name
	return nil
}

// Call implements Caller.
func (n *founder) Call(ctx context.Context, addr string, _ uint8, payload []byte) ([]byte, error) {
	f := n.f
	f.mu.Lock()
	to := f.nodes[addr]
	lost := f.cut[addr] != f.cut[n.addr] || f.rng.IntN(100) < f.drops
	var serve func([]byte, func([]byte))
	switch {
	case to == nil || lost:
	case to.cluster != "":
		serve = to.serveMember
	case to.bootstrap != nil:
		serve = to.bootstrap.Serve
	}
	f.mu.Unlock()
	if serve == nil {
		return nil, errors.New("connection refused")
	}
	got := make(chan []byte, 1)
	serve(payload, func(b []byte) { got <- b })
	select {
	case b := <-got:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveMember answers for a node that has a cluster.
func (n *founder) serveMember(payload []byte, reply func([]byte)) {
	var k knock
	_ = json.Unmarshal(payload, &k)
	n.f.mu.Lock()
	id := n.cluster
	n.f.mu.Unlock()
	switch k.Verb {
	case knockPresence:
		answerKnock(reply, bodyOf(Presence{ID: meta.NodeID(n.name), Name: n.name, ClusterID: id}))
	case knockJoin:
		answerKnock(reply, bodyOf(Welcome{ClusterID: id, Creation: meta.Creation{LockSlots: 1, HeartbeatMs: 1, ElectionMs: 1, Seeds: make([]meta.HashSeed, 1)}}))
	default:
		answerKnock(reply, knockAnswer{Again: "not for members"})
	}
}

// start runs a node's Bootstrap until the node has a cluster or ctx ends. A node that founds one sends
// to founded.
func (f *field) start(ctx context.Context, wg *sync.WaitGroup, n *founder, expect int, founded chan<- string) {
	m := NewBootstrap(BootstrapConfig{
		Request: JoinRequest{Node: meta.Node{ID: meta.NodeID(n.name + ".1"), Name: n.name}}, Expect: expect,
		Join: []string{"all:1"}, Caller: n, Promises: n, Log: quietLog(), LookupHost: f.lookupFor(n.name),
	})
	m.pause = time.Millisecond
	f.mu.Lock()
	n.bootstrap = m
	f.mu.Unlock()
	wg.Go(func() {
		w, err := m.Run(ctx)
		if err != nil {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if w != nil {
			n.cluster = w.ClusterID
			return
		}
		n.cluster = "founded by " + n.name
		founded <- n.name
	})
}

// lookup is a name service that may not know all nodes yet.
func (f *field) lookup(context.Context, string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for addr := range f.nodes {
		if f.rng.IntN(100) >= f.hides {
			all = append(all, strings.TrimSuffix(addr, ":1"))
		}
	}
	return all, nil
}

// lookupFor is the name service as one node sees it.
func (f *field) lookupFor(name string) func(context.Context, string) ([]string, error) {
	if view := f.views[name]; view != nil {
		return func(context.Context, string) ([]string, error) { return view, nil }
	}
	return f.lookup
}

// clusters returns the clusters that exist, with how many nodes each has.
func (f *field) clusters() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[string]int{}
	for _, n := range f.nodes {
		if n.cluster != "" {
			found[n.cluster]++
		}
	}
	return found
}

func TestAFieldOfEmptyNodesBecomesOneCluster(t *testing.T) {
	for size := 1; size <= 5; size++ {
		f := newField(t, size)
		f.drops, f.hides = 20, 10
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		founded := make(chan string, size)
		var wg sync.WaitGroup
		for _, n := range f.nodes { // in any order
			f.start(ctx, &wg, n, size, founded)
		}
		wg.Wait()
		cancel()
		if got := f.clusters(); len(founded) != 1 || <-founded != "n0" || len(got) != 1 || got["founded by n0"] != size {
			t.Errorf("%d nodes: %v", size, got)
		}
	}
}

// Two nodes are cut off from the third: no node on either side may found a cluster until the cut is
// gone.
func TestACutWhileFoundingNeverMakesTwoClusters(t *testing.T) {
	for _, alone := range []string{"10.0.0.0:1", "10.0.0.2:1"} {
		f := newField(t, 3)
		f.cut[alone] = true
		founded := make(chan string, 3)
		var wg sync.WaitGroup
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		for _, n := range f.nodes {
			f.start(ctx, &wg, n, 3, founded)
		}
		wg.Wait() // each ends at its deadline, for none can find a cluster
		cancel()
		if got := f.clusters(); len(got) != 0 {
			t.Fatalf("%s is cut off: %v", alone, got)
		}
		f.cut[alone] = false
		ctx, cancel = context.WithTimeout(context.Background(), 60*time.Second)
		for _, n := range f.nodes {
			f.start(ctx, &wg, n, 3, founded)
		}
		wg.Wait()
		cancel()
		if got := f.clusters(); len(got) != 1 || got["founded by n0"] != 3 {
			t.Fatalf("healed: %v", got)
		}
	}
}

// Five nodes were all told to expect three, and a name service shows only some of them, so each
// sees three of the five now and then. Whatever they see, the promises allow at most one cluster.
func TestAWrongNumberNeverMakesTwoClusters(t *testing.T) {
	const seeds, seedsMost = 20, 400
	some := 0
	// On a busy machine no node may finish for a while.
	for seed := 0; seed < seeds || some == 0 && seed < seedsMost; seed++ {
		f := newField(t, 5)
		f.rng = rand.New(rand.NewPCG(7, uint64(seed)))
		f.hides = 40
		founded := make(chan string, 5)
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
		var wg sync.WaitGroup
		for _, n := range f.nodes {
			f.start(ctx, &wg, n, 3, founded)
		}
		wg.Wait()
		cancel()
		if len(founded) > 1 {
			t.Fatalf("seed %d: %v", seed, f.clusters())
		}
		some += len(founded)
	}
	if some == 0 {
		t.Error("nothing was founded in any run: the test shows nothing")
	}
}

// Two groups of three of five nodes see only each other, and have one node in common. Both groups
// have a node that has the lowest name of those it sees.
func TestTwoPartialViewsNeverMakeTwoClusters(t *testing.T) {
	for range 20 {
		f := newField(t, 5)
		low, high := []string{"10.0.0.0", "10.0.0.1", "10.0.0.2"}, []string{"10.0.0.2", "10.0.0.3", "10.0.0.4"}
		f.views = map[string][]string{"n0": low, "n1": low, "n2": high, "n3": high, "n4": high}
		founded := make(chan string, 5)
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		var wg sync.WaitGroup
		for _, n := range f.nodes {
			f.start(ctx, &wg, n, 3, founded)
		}
		select {
		case <-founded:
		case <-ctx.Done():
			t.Fatal("no cluster")
		}
		// A node that would found another cluster has at least as long again as founding takes.
		time.AfterFunc(100*time.Millisecond, cancel)
		wg.Wait()
		cancel()
		if len(founded) != 0 {
			t.Fatalf("%d clusters more: %v", len(founded), f.clusters())
		}
	}
}

// A node that lost its disk finds the others' cluster and joins it, even if it founded that
// cluster, and although one of the others is away.
func TestAFounderThatLostItsDiskJoins(t *testing.T) {
	f := newField(t, 3)
	f.nodes["10.0.0.1:1"].cluster = "c1"
	f.cut["10.0.0.2:1"] = true
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	founded := make(chan string, 1)
	var wg sync.WaitGroup
	f.start(ctx, &wg, f.nodes["10.0.0.0:1"], 3, founded)
	wg.Wait()
	if len(founded) != 0 || f.nodes["10.0.0.0:1"].cluster != "c1" {
		t.Fatalf("%v", f.clusters())
	}
}

func TestAPromiseIsGivenOnceAndOnlyToALowerNameThatExpectsTheSame(t *testing.T) {
	f := newField(t, 3)
	n := f.nodes["10.0.0.1:1"]
	n.bootstrap = NewBootstrap(BootstrapConfig{Request: JoinRequest{Node: meta.Node{ID: "n1.1", Name: "n1"}}, Expect: 3, Join: []string{"all:1"}, Promises: n, Log: quietLog()})
	from := f.nodes["10.0.0.0:1"]
	asks := func(p Presence) error {
		var got Promise
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return ask(ctx, from, n.addr, knockPromise, p, &got)
	}
	for _, p := range []Presence{here("n2", 3), here("n0", 5), {Name: "n0", Expect: 3, Join: []string{"others:1"}}, {}} {
		if err := asks(p); err == nil || n.promised != "" {
			t.Errorf("%+v was promised something: %v", p, err)
		}
	}
	if err := asks(here("n0", 3)); err != nil || n.promised != "n0" {
		t.Fatal(err, n.promised)
	}
	if err := asks(here("m", 3)); err != nil || n.promised != "n0" {
		t.Fatalf("promised twice: %v, %s", err, n.promised)
	}
}
