package clock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// town is a few nodes with clocks, in synthetic time.
type town struct {
	mu    sync.Mutex
	nodes map[string]*townNode
	// takes is how long an answer takes; cut holds the nodes that cannot be reached.
	takes time.Duration
	cut   map[string]bool
}

type townNode struct {
	*Exchange
	offset time.Duration
	led    []LogTime
	heard  []LogTime
}

var errCut = errors.New("cut off")

// pass lets synthetic time pass.
func pass(d time.Duration) { <-time.After(d) }

// Go implements Peers. The address of a node is its id.
func (w *town) Go(addr string, kind uint8, payload []byte, done func([]byte, error)) {
	w.mu.Lock()
	n, cut, takes := w.nodes[addr], w.cut[addr], w.takes
	w.mu.Unlock()
	go func() {
		pass(takes / 2)
		if cut {
			done(nil, errCut)
			return
		}
		n.Serve(func(answer []byte) {
			pass(takes / 2)
			done(answer, nil)
		})
	}()
}

func (w *town) set(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
}

// newTown makes nodes a, b and so on, whose wall clocks are ahead by offsets. They ask each other
// until end is called.
func newTown(t *testing.T, offsets ...time.Duration) (w *town, end func()) {
	w = &town{nodes: map[string]*townNode{}, takes: 2 * time.Millisecond, cut: map[string]bool{}}
	var members []Member
	for i := range offsets {
		id := string(rune('a' + i))
		members = append(members, Member{ID: id, Addr: id, Counts: true})
	}
	for i, m := range members {
		n := &townNode{offset: offsets[i]}
		began := time.Now()
		n.Exchange = NewExchange(Config{
			Self: m.ID, Members: func() []Member { return members }, Peers: w,
			// The monotonic clocks of different machines are unrelated.
			Mono: func() time.Duration { return time.Since(began) + time.Duration(i+1)*time.Hour },
			Wall: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return time.Now().Add(n.offset) },
			Led:  func() []LogTime { w.mu.Lock(); defer w.mu.Unlock(); return slices.Clone(n.led) },
			Heard: func(_ string, l LogTime, sentUs, gotUs int64) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if gotUs-sentUs != w.takes.Microseconds() {
					t.Errorf("%s: an answer took %d us", m.ID, gotUs-sentUs)
				}
				n.heard = append(n.heard, l)
			},
		})
		w.nodes[m.ID] = n
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, m := range members {
		go w.nodes[m.ID].Run(ctx)
	}
	return w, func() {
		cancel()
		pass(w.takes) // until all answers on their way have arrived
		synctest.Wait()
	}
}

// says returns what a majority of voters says at one node, relative to the true time.
func (w *town) says(id string, voters ...string) (least, most time.Duration, known bool) {
	now := w.nodes[id].Now(voters)
	trueUs := time.Now().UnixMicro()
	return time.Duration(now.LeastUs-trueUs) * time.Microsecond, time.Duration(now.MostUs-trueUs) * time.Microsecond, now.Known()
}

func TestNodesLearnWhatTimeItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, end := newTown(t, 0, time.Hour, 0)
		defer end()
		w.set(func() { w.nodes["b"].led = []LogTime{{Shard: 3, Term: 7, RunUs: 42}} })
		if _, _, known := w.says("b", "a", "b", "c"); known {
			t.Error("b knows before it has asked")
		}
		pass(time.Second)
		for id := range w.nodes {
			least, most, known := w.says(id, "a", "b", "c")
			if !known || least > 0 || most < 0 || most-least > 4*time.Millisecond {
				t.Errorf("at %s a majority says %v to %v, known: %v", id, least, most, known)
			}
			for _, s := range w.nodes[id].Standings() {
				off := time.Duration(s.OffUs) * time.Microsecond
				if !s.Heard || s.UnsureUs > 1000 || s.ID != "b" && off != 0 || s.ID == "b" && (off > time.Hour || off < time.Hour-4*time.Millisecond) {
					t.Errorf("%s says of %s: %+v", id, s.ID, s)
				}
			}
		}
		w.set(func() {
			if got := w.nodes["a"].heard; len(got) == 0 || got[0] != (LogTime{3, 7, 42}) {
				t.Errorf("a has heard %v", got)
			}
			w.nodes["b"].offset = 0
		})
		pass(2 * time.Second)
		if off := w.nodes["a"].OffUs("b"); off != 0 {
			t.Errorf("a second after it was set b's clock is %d us off", off)
		}
	})
}

// A node with too few answers has no majority, and does not continue with old answers.
func TestWhoHearsTooFewSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, end := newTown(t, 0, 0, 0, time.Hour)
		defer end()
		pass(time.Second)
		w.set(func() { w.cut["b"], w.cut["c"] = true, true })
		pass(9 * time.Second)
		if _, _, known := w.says("a", "a", "b", "c"); !known {
			t.Error("what was heard a moment ago is forgotten")
		}
		pass(3 * time.Second)
		if _, _, known := w.says("a", "a", "b", "c"); known {
			t.Error("what was heard long ago counts")
		}
		if off := w.nodes["a"].OffUs("d"); off != 0 {
			t.Errorf("d is said to be %d us off", off)
		}
		// It still knows the time of a group if it has answers of a majority of that group.
		if _, _, known := w.says("a", "a", "d"); !known {
			t.Error("nothing is known of a and d")
		}
		w.set(func() { clear(w.cut) })
		pass(2 * time.Second)
		if _, _, known := w.says("a", "a", "b", "c"); !known {
			t.Error("nothing is known when all is well again")
		}
	})
}

// Slow answers are uncertain and decide nothing.
func TestSlowAnswersAreUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, end := newTown(t, 300*time.Millisecond, 0, 0)
		defer end()
		w.set(func() { w.takes = 2 * time.Second })
		pass(10 * time.Second)
		if off := w.nodes["a"].OffUs("a"); off != 0 {
			t.Errorf("it is said to be %d us off", off)
		}
		w.set(func() { w.nodes["a"].offset = 3 * time.Second })
		if off := time.Duration(w.nodes["a"].OffUs("a")) * time.Microsecond; off < time.Second || off > 3*time.Second {
			t.Errorf("three seconds ahead it is said to be %v off", off)
		}
	})
}

// The unanswered questions to a silent node are bounded, and a node that leaves is forgotten.
func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		members := []Member{{"a", "a", true}, {"b", "b", true}}
		var mu sync.Mutex
		x := NewExchange(Config{
			Self: "a", Members: func() []Member { mu.Lock(); defer mu.Unlock(); return members },
			Peers: silent{&asked}, Mono: func() time.Duration { return time.Duration(time.Now().UnixNano()) }, Wall: time.Now,
		})
		x.take(&answer{node: "b", wallUs: 5}, 0, x.monoUs())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go x.Run(ctx)
		pass(time.Minute)
		synctest.Wait()
		if asked != openMax {
			t.Errorf("%d questions are open", asked)
		}
		x.take(&answer{node: "b", wallUs: 5}, 0, x.monoUs())
		mu.Lock()
		members = members[:1]
		mu.Unlock()
		x.Kick()
		synctest.Wait()
		if now := x.Now([]string{"a", "b"}); now.Known() {
			t.Error("a node that has left counts")
		}
	})
}

type silent struct{ asked *int }

func (s silent) Go(string, uint8, []byte, func([]byte, error)) { *s.asked++ }

func TestAnAnswerIsReadAsItWasWritten(t *testing.T) {
	for _, a := range []answer{
		{node: "n1-7", wallUs: 1_700_000_000_000_000},
		{wallUs: -5, led: []LogTime{{1, 2, 3}, {1 << 31, 1 << 63, -9}}},
		{node: string(make([]byte, 255))},
	} {
		got, ok := decode(encode(&a))
		if !ok || got.node != a.node || got.wallUs != a.wallUs || !slices.Equal(got.led, a.led) {
			t.Errorf("%+v becomes %+v, %v", a, got, ok)
		}
	}
	for _, a := range []answer{{wallUs: timeMax}, {wallUs: -timeMax}, {led: []LogTime{{RunUs: 1 << 62}}}} {
		if _, ok := decode(encode(&a)); ok {
			t.Errorf("%+v is taken", a)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(encode(&answer{node: "a", wallUs: 5, led: []LogTime{{1, 2, 3}}}))
	f.Add([]byte{255})
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, ok := decode(b); ok && fmt.Sprint(encode(&a)) != fmt.Sprint(b) {
			t.Errorf("%q is taken for %+v", b, a)
		}
	})
}
