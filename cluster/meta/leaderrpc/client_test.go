package leaderrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/ground/caught"
)

// town is some nodes in one process, and their leader.
type town struct {
	nodes map[string]*Client
	// leader is the node that all take for the leader; believed overrides it for a node.
	leader   atomic.Pointer[string]
	believed map[string]string
	down     map[string]bool
	calls    atomic.Int64
	// answered, if set, is called when a call has its answer, or its error.
	answered func()
}

func newTown(t *testing.T, names ...string) *town {
	w := &town{nodes: map[string]*Client{}, believed: map[string]string{}, down: map[string]bool{}}
	w.lead(names[0])
	for _, name := range names {
		c := New(Config{
			Caller: w,
			Leader: func(uint32) (string, bool) {
				l := *w.leader.Load()
				if b, ok := w.believed[name]; ok && l != name {
					l = b
				}
				return l, l == name
			},
			Peers: func() (peers []string) {
				for _, n := range names {
					if n != name {
						peers = append(peers, n)
					}
				}
				return peers
			},
		})
		c.Handle("where", func(context.Context, uint32, []byte) ([]byte, error) { return json.Marshal(name) })
		c.Handle("no", func(context.Context, uint32, []byte) ([]byte, error) {
			return nil, fmt.Errorf("refused: %w", &Refusal{Code: "no", Text: "no, said " + name})
		})
		w.nodes[name] = c
		t.Cleanup(c.Close)
	}
	return w
}

func (w *town) lead(name string) { w.leader.Store(&name) }

func (w *town) Call(ctx context.Context, addr string, _ uint8, payload []byte) ([]byte, error) {
	w.calls.Add(1)
	if w.answered != nil {
		defer w.answered()
	}
	if w.down[addr] {
		return nil, errors.New(addr + " is down")
	}
	got := make(chan []byte, 1)
	w.nodes[addr].Serve(payload, func(b []byte) { got <- b })
	select {
	case b := <-got:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// untilAnswered is a context that ends with the first call's answer.
func (w *town) untilAnswered(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	w.answered = cancel
	return ctx
}

func TestTheLeaderIsReachedFromAnywhere(t *testing.T) {
	w := newTown(t, "a", "b", "c")
	w.believed["c"] = "" // c knows no leader and asks other nodes
	for name, c := range w.nodes {
		got, err := c.Do(within(t, 10*time.Second), 7, "where", nil)
		if err != nil || string(got) != `"a"` {
			t.Errorf("from %s: %s, %v", name, got, err)
		}
	}
}

func TestARefusalIsFinalAndKeepsItsCode(t *testing.T) {
	w := newTown(t, "a", "b")
	_, err := w.nodes["b"].Do(within(t, 10*time.Second), 0, "no", nil)
	if !errors.Is(err, &Refusal{Code: "no"}) || err.Error() != "no, said a" {
		t.Fatal(err)
	}
	if n := w.calls.Load(); n != 1 {
		t.Fatalf("%d calls for a final answer", n)
	}
	if _, err := w.nodes["b"].Do(w.untilAnswered(t), 0, "fly", nil); !errors.Is(err, ErrUnanswered) || !strings.Contains(err.Error(), `"fly"`) {
		t.Fatal(err)
	}
}

func TestADeadLeaderIsWaitedOut(t *testing.T) {
	w := newTown(t, "a", "b", "c")
	w.down["a"] = true
	done := make(chan error, 1)
	go func() {
		got, err := w.nodes["b"].Do(within(t, 20*time.Second), 0, "where", nil)
		if err == nil && string(got) != `"c"` {
			err = fmt.Errorf("answered by %s", got)
		}
		done <- err
	}()
	for w.calls.Load() < 2 {
		runtime.Gosched()
	}
	w.lead("c")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestNobodyAnswersIsSaidInWords(t *testing.T) {
	w := newTown(t, "a", "b")
	w.down["a"] = true
	_, err := w.nodes["b"].Do(w.untilAnswered(t), 0, "where", nil)
	if !errors.Is(err, ErrUnanswered) || !strings.Contains(err.Error(), "a is down") {
		t.Fatal(err)
	}
	w.lead("")
	_, err = w.nodes["b"].Do(within(t, 50*time.Millisecond), 0, "where", nil)
	if !errors.Is(err, ErrUnanswered) {
		t.Fatal(err)
	}
}

func TestARequestIsPassedOnOnlyOnce(t *testing.T) {
	w := newTown(t, "x", "a", "b")
	w.lead("")
	w.believed["a"], w.believed["b"] = "b", "a" // each believes in the other
	_, err := w.nodes["a"].Do(within(t, 100*time.Millisecond), 0, "where", nil)
	if !errors.Is(err, ErrUnanswered) {
		t.Fatal(err)
	}
	if n := w.calls.Load(); n > 30 {
		t.Fatalf("%d calls: the request went round", n)
	}
}

func TestGarbageIsAnswered(t *testing.T) {
	w := newTown(t, "a")
	var a answer
	w.nodes["a"].Serve([]byte("\xff{"), func(b []byte) {
		if err := json.Unmarshal(b, &a); err != nil {
			t.Error(err)
		}
	})
	if a.Refusal == nil {
		t.Fatalf("%+v", a)
	}
}

// TestAHandlerThatPanicsEndsItsRequestAlone: the asking node gets an answer, and the place of the
// request becomes free. So more such requests than there are places all get an answer.
func TestAHandlerThatPanicsEndsItsRequestAlone(t *testing.T) {
	w := newTown(t, "a")
	a := w.nodes["a"]
	a.cfg.Panics = caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	a.Handle("break", func(context.Context, uint32, []byte) ([]byte, error) { panic("broken by hand") })
	payload, err := json.Marshal(request{Verb: "break", TimeoutMs: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * serveMax {
		reply, err := w.Call(within(t, 20*time.Second), "a", Kind, payload)
		var got answer
		if err == nil {
			err = json.Unmarshal(reply, &got)
		}
		if err != nil || got.Again != errPanic.Error() {
			t.Fatalf("%s, %v", reply, err)
		}
	}
	if n := a.cfg.Panics.Count(); n != 2*serveMax {
		t.Errorf("%d panics are counted", n)
	}
}

// TestAnOvertakenOrderIsGivenAnew: a node whose own copy of the log lags behind does so as well.
func TestAnOvertakenOrderIsGivenAnew(t *testing.T) {
	w := newTown(t, "a", "b")
	w.nodes["a"].cfg.Seen = func() uint64 { return 7 }
	w.nodes["b"].cfg.Seen = func() uint64 { return 3 }
	var orders []Order
	w.nodes["a"].Handle("set", func(ctx context.Context, _ uint32, _ []byte) ([]byte, error) {
		o, _ := OrderOf(ctx)
		if orders = append(orders, o); o.Seen < 7 {
			return nil, ErrOvertaken
		}
		return json.Marshal("set")
	})
	if _, err := w.nodes["b"].Do(t.Context(), 1, "set", nil); err != nil {
		t.Fatal(err)
	}
	if len(orders) != 2 || orders[0].Seen != 3 || orders[0].ID == orders[1].ID {
		t.Errorf("%+v", orders)
	}
}

// TestAForgottenOrderMayHaveBeenCarriedOut, if an earlier copy of it was not answered.
func TestAForgottenOrderMayHaveBeenCarriedOut(t *testing.T) {
	w := newTown(t, "a")
	answers := []error{ErrForgotten, errors.New("an election"), ErrForgotten}
	var ids []uint64
	w.nodes["a"].Handle("set", func(ctx context.Context, _ uint32, _ []byte) ([]byte, error) {
		o, _ := OrderOf(ctx)
		ids = append(ids, o.ID)
		return nil, answers[len(ids)-1]
	})
	if _, err := w.nodes["a"].Do(t.Context(), 1, "set", nil); !errors.Is(err, ErrUnanswered) {
		t.Error(err)
	}
	if len(ids) != 3 || ids[0] == ids[1] || ids[1] != ids[2] {
		t.Errorf("%x", ids)
	}
}
