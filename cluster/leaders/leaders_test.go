package leaders

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"sync"
	"testing"
	"time"

	"lockstep/cluster/stepper"
)

// TestTablesAgreeInWhateverOrder gives several tables the same news in different orders. In the end
// they must be equal, and on the way their epochs must order them.
func TestTablesAgreeInWhateverOrder(t *testing.T) {
	const shards, terms = 5, 20
	var news []struct {
		shard int
		l     Leadership
	}
	for shard := range shards {
		for term := range terms {
			news = append(news, struct {
				shard int
				l     Leadership
			}{shard, Leadership{uint64(term), uint64(1 + (shard+term)%3)}})
		}
	}
	for seed := range int64(20) {
		rand.New(rand.NewSource(seed)).Shuffle(len(news), func(i, j int) { news[i], news[j] = news[j], news[i] })
		table := NewTable(shards)
		told := make([]Leadership, shards)
		table.OnNews(func(shard int, l Leadership) {
			if l.Term <= told[shard].Term {
				t.Fatalf("told of term %d after term %d", l.Term, told[shard].Term)
			}
			told[shard] = l
		})
		epoch := uint64(0)
		for _, n := range news {
			changed := table.Learn(n.shard, n.l)
			if now := table.Epoch(); changed != (now > epoch) || now < epoch {
				t.Fatalf("news taken over: %v, epoch %d, then %d", changed, epoch, now)
			}
			epoch = table.Epoch()
			if changed && told[n.shard] != n.l {
				t.Fatalf("told of %v, not of %v", told[n.shard], n.l)
			}
		}
		for shard := range shards {
			if got, want := table.Of(shard), (Leadership{terms - 1, uint64(1 + (shard+terms-1)%3)}); got != want {
				t.Fatalf("seed %d, shard %d: %v, not %v", seed, shard, got, want)
			}
		}
	}
}

// wire carries requests between exchanges, except for those that are cut off.
type wire struct {
	mu    sync.Mutex
	nodes map[string]*Exchange
	cut   map[string]bool
}

func (w *wire) Go(addr string, kind uint8, payload []byte, done func([]byte, error)) {
	w.mu.Lock()
	to, cut := w.nodes[addr], w.cut[addr]
	w.mu.Unlock()
	if cut || kind != Kind {
		done(nil, errors.New("cut off"))
		return
	}
	to.Serve(payload, func(answer []byte) { done(answer, nil) })
}

// TestNodesConverge gives four nodes different news, one of them none, and cuts one off for a
// while. In the end all must know the same.
func TestNodesConverge(t *testing.T) {
	const shards = 3
	w := &wire{nodes: map[string]*Exchange{}, cut: map[string]bool{}}
	var heard sync.Map
	var addrs []string
	for i := range 4 {
		addrs = append(addrs, fmt.Sprint("n", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	for i, addr := range addrs {
		e := &Exchange{
			Stepper: stepper.New(), Table: NewTable(shards), Peers: w,
			Addrs: func() []string { return addrs },
			Heard: func(shard int) Leadership {
				l, _ := heard.Load([2]int{i, shard})
				known, _ := l.(Leadership)
				return known
			},
		}
		w.nodes[addr] = e
	}
	for _, e := range w.nodes {
		running.Go(func() { e.Run(ctx) })
	}
	agree := func(want ...Leadership) {
		t.Helper()
		deadline := time.Now().Add(20 * time.Second)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for _, addr := range addrs {
			for {
				got, _ := w.nodes[addr].Table.All()
				if reflect.DeepEqual(got, want) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s knows %v, not %v", addr, got, want)
				}
				<-tick.C
			}
		}
	}
	heard.Store([2]int{0, 0}, Leadership{3, 10})
	heard.Store([2]int{1, 0}, Leadership{2, 11})
	heard.Store([2]int{1, 1}, Leadership{7, 11})
	heard.Store([2]int{2, 2}, Leadership{1, 12})
	agree(Leadership{3, 10}, Leadership{7, 11}, Leadership{1, 12})
	w.mu.Lock()
	w.cut["n3"] = true
	w.mu.Unlock()
	heard.Store([2]int{2, 1}, Leadership{8, 12})
	heard.Store([2]int{3, 0}, Leadership{1, 13})
	agree(Leadership{3, 10}, Leadership{8, 12}, Leadership{1, 12})
	cancel()
	running.Wait()
}

// TestForeignTablesChangeNothing sends tables of another length.
func TestForeignTablesChangeNothing(t *testing.T) {
	e := &Exchange{Table: NewTable(2)}
	for _, n := range []int{0, 1, 3, 300} {
		e.Serve(encode(make([]Leadership, n)), func(answer []byte) {
			if len(answer) != 2*leadershipBytes {
				t.Errorf("the answer has %d bytes", len(answer))
			}
		})
		if err := e.Table.learnAll(encode(make([]Leadership, n)), e.may); err == nil {
			t.Errorf("a table of %d shards was taken", n)
		}
	}
	if e.Table.Epoch() != 0 {
		t.Error("something was learnt")
	}
}

// TestFalseNewsIsForgottenAndNotTakenAgain: a false entry with a very high term would take
// precedence over every true one for ever, and spread.
func TestFalseNewsIsForgottenAndNotTakenAgain(t *testing.T) {
	table := NewTable(1)
	truth, never := Leadership{5, 10}, Leadership{1 << 60, 11}
	table.Learn(0, truth)
	table.Learn(0, never)
	if table.Of(0) != never {
		t.Fatal(table.Of(0))
	}
	table.Disprove(0, never)
	if got := table.Of(0); got != (Leadership{}) {
		t.Fatalf("%v is believed", got)
	}
	if !table.Learn(0, truth) || table.Learn(0, never) || table.Of(0) != truth {
		t.Errorf("%v is believed", table.Of(0))
	}
	// An entry that is no longer in the table is disproved as well, and the memory stays bounded.
	for term := range uint64(3 * disprovedMax) {
		table.Disprove(0, Leadership{1<<50 + term, 11})
	}
	if table.Of(0) != truth || len(table.disproved[0]) != disprovedMax {
		t.Errorf("%v is believed, %d are remembered", table.Of(0), len(table.disproved[0]))
	}
	if table.Learn(0, Leadership{1<<50 + 3*disprovedMax - 1, 11}) {
		t.Error("the newest that was disproved is believed")
	}
}

// TestNewsThatCannotBeTrueIsLeftOut: news about a node that does not exist, or about this node if
// it knows better.
func TestNewsThatCannotBeTrueIsLeftOut(t *testing.T) {
	e := &Exchange{Table: NewTable(2), Heard: func(int) Leadership { return Leadership{} }}
	e.May = func(_ int, l Leadership) bool { return l.Node == 10 || l.Node == 1 && l.Term <= 7 }
	e.Serve(encode([]Leadership{{1 << 60, 99}, {8, 1}}), func([]byte) {})
	if known, _ := e.Table.All(); known[0] != (Leadership{}) || known[1] != (Leadership{}) {
		t.Errorf("%v", known)
	}
	e.Serve(encode([]Leadership{{6, 10}, {7, 1}}), func([]byte) {})
	if known, _ := e.Table.All(); known[0] != (Leadership{6, 10}) || known[1] != (Leadership{7, 1}) {
		t.Errorf("%v", known)
	}
	// An entry that was learned before the node knew better is dropped as well.
	e.Table.Learn(1, Leadership{9, 1})
	e.Look()
	if known, _ := e.Table.All(); known[0] != (Leadership{6, 10}) || known[1] != (Leadership{}) {
		t.Errorf("%v", known)
	}
}
