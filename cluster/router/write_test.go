package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lockstep/cluster"
	"lockstep/engine/script"
	"lockstep/fsm"
)

// A pipeline over two shards becomes one bundle for each. The outcome of one does not depend on the
// other's.
func TestAPipelineOverShardsIsABundleForEach(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(second *fakeShard)
		bundles int
		err     error
	}{
		{"both answer", func(*fakeShard) {}, 1, nil},
		{"one is asked again", func(second *fakeShard) { second.steps = []error{cluster.ErrUnknown} }, 2, nil},
		{"one is refused", func(second *fakeShard) { second.steps = []error{cluster.ErrTooLarge} }, 1, cluster.ErrTooLarge},
		{"one waits for a leader that has gone", func(second *fakeShard) {
			second.hold, second.onHold = true, func() { second.addr = "other" }
		}, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := &fakeShard{self: true, addr: "me"}, &fakeShard{self: true, addr: "me"}
			c.prepare(second)
			r := routerOf(5000, nil, first, second)
			calls := []*cluster.Call{callOf(1, "SET", "a", "1"), callOf(9000, "SET", "b", "1"), callOf(2, "SET", "c", "1"), callOf(9001, "SET", "d", "1")}
			r.Do(context.Background(), calls)
			for i, want := range []string{":0\r\n", ":0\r\n", ":1\r\n", ":1\r\n"} {
				if failed := i%2 == 1 && c.err != nil; failed && !errors.Is(calls[i].Err, c.err) {
					t.Errorf("call %d: %v, want %v", i, calls[i].Err, c.err)
				} else if !failed && (calls[i].Err != nil || string(calls[i].Reply) != want) {
					t.Errorf("call %d: %q, %v; want %q", i, calls[i].Reply, calls[i].Err, want)
				}
			}
			if len(first.bundles) != 1 || len(second.bundles) != c.bundles {
				t.Fatalf("%d and %d bundles", len(first.bundles), len(second.bundles))
			}
			if c.bundles == 2 && (!bytes.Equal(second.bundles[0], second.bundles[1]) || second.again != 1) {
				t.Error("it was not asked again under the same identity")
			}
		})
	}
}

// TestABundleThatNeedsTooMuchIsDivided: the calls are sent again, in order, in smaller bundles,
// down to a single call. The answer to a single call is final.
func TestABundleThatNeedsTooMuchIsDivided(t *testing.T) {
	s := &fakeShard{self: true, addr: "me", steps: []error{cluster.ErrTooMuchAtOnce, nil, cluster.ErrTooMuchAtOnce, cluster.ErrOutOfMemory, nil}}
	r := routerOf(5000, nil, s)
	calls := []*cluster.Call{callOf(1, "SET", "a", "1"), callOf(1, "SET", "b", "1"), callOf(1, "SET", "c", "1"), callOf(1, "SET", "d", "1")}
	r.Do(context.Background(), calls)
	if len(s.bundles) != 5 || s.again != 0 {
		t.Fatalf("%d bundles, %d of them again", len(s.bundles), s.again)
	}
	for i, want := range []string{":0\r\n", ":1\r\n", "", ":0\r\n"} {
		if c := calls[i]; want == "" && !errors.Is(c.Err, cluster.ErrOutOfMemory) || want != "" && (c.Err != nil || string(c.Reply) != want) {
			t.Errorf("call %d: %q, %v; want %q", i, c.Reply, c.Err, want)
		}
	}
}

// sent lists the contents of the bundles: the calls of each, with a script's text given by its
// length.
func sent(t *testing.T, s *fakeShard) string {
	t.Helper()
	var all []string
	for _, data := range s.bundles {
		b, err := fsm.DecodeBundle(data)
		if err != nil {
			t.Fatal(err)
		}
		var calls []string
		for i := range b.Txns {
			op := &b.Txns[i].Ops[0]
			switch {
			case op.Sum != nil:
				calls = append(calls, "sum")
			case op.Evaluates():
				calls = append(calls, fmt.Sprint(len(op.Args[1])))
			default:
				calls = append(calls, string(op.Args[0]))
			}
		}
		all = append(all, strings.Join(calls, " "))
	}
	return strings.Join(all, "; ")
}

// TestTextsOfKnownScriptsAreLeftOut: short texts are always sent. If the shard no longer has the
// script, the calls that did not run are sent again, once, with the text.
func TestTextsOfKnownScriptsAreLeftOut(t *testing.T) {
	known, other, short := "return 1 --"+strings.Repeat("k", 89), "return 1 --"+strings.Repeat("o", 89), "return 1"
	var cache script.Cache
	for _, text := range []string{known, short} {
		s, err := script.Read([]byte(text), &script.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		cache.Keep(s, script.CacheLimits{Scripts: 10, Bytes: 1000})
	}
	for _, c := range []struct {
		knows, forgot bool
		want          string
	}{
		{true, false, "set sum 100 8 sum"},
		{true, true, "set sum 100 8 sum; 100 100 8 100"},
		{false, true, "set 100 100 8 100"},
	} {
		for _, far := range []bool{false, true} {
			s := &fakeShard{self: true, addr: "b", forgot: c.forgot}
			r := routerOf(5000, nil, s)
			if far {
				r = routerOf(5000, &fakePeers{to: r}, &fakeShard{addr: "b"})
			}
			r.cfg.Scripts = func(int) *script.Cache {
				if c.knows {
					return &cache
				}
				return nil
			}
			calls := []*cluster.Call{callOf(1, "set", "a", "1")}
			for _, text := range []string{known, other, short, known} {
				calls = append(calls, callOf(1, "EVAL", text, "1", "a"))
			}
			r.Do(t.Context(), calls)
			if got := sent(t, s); got != c.want || s.again != 0 {
				t.Errorf("%+v: %s; %d again", c, got, s.again)
			}
			for i, call := range calls {
				if call.Err != nil || call.Reply == nil || i > 0 && len(call.Txn.Ops[0].Args[1]) < 8 {
					t.Errorf("%+v: call %d: %q, %v", c, i, call.Reply, call.Err)
				}
			}
		}
	}
}
