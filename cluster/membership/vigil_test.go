package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lockstep/cluster/meta"
)

// standings answers a vigil's questions, by address.
type standings map[string]Standing

func (s standings) Call(_ context.Context, addr string, kind uint8, _ []byte) ([]byte, error) {
	a, ok := s[addr]
	if !ok || kind != KindKnock {
		return nil, errors.New("connection refused")
	}
	body, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return json.Marshal(knockAnswer{Body: body})
}

func TestARemovedNodeFindsOut(t *testing.T) {
	for _, c := range []struct {
		name, view string
		epoch      uint64
		hears      bool
		others     standings
		want       string
	}{
		{"all is well", "a b c", 5, true, nil, ""},
		{"its own log says so", "b c a:removed", 5, true, nil, "removed by an operator"},
		{"and by whom it was replaced", "b c a:removed>d", 5, true, nil, "replaced by node d"},
		{"leaving is not removed", "a:leaving b c", 5, true, nil, ""},
		{"deaf, and nobody answers", "a b c", 5, false, nil, ""},
		{"deaf, but a member", "a b c", 5, false, standings{"b": {ClusterID: "c", Epoch: 9, State: meta.Member}}, ""},
		{"deaf, and removed", "a b c", 5, false, standings{"c": {ClusterID: "c", Epoch: 9, State: meta.Removed, ReplacedBy: "d"}}, "replaced by node d"},
		{"removed so long ago that it is forgotten", "a b c", 5, false, standings{"b": {ClusterID: "c", Epoch: 6}}, "removed by an operator"},
		{"not heard of yet by one that is behind", "a b c", 5, false, standings{"b": {ClusterID: "c", Epoch: 4}}, ""},
		{"knows nothing itself yet", "", 0, false, standings{"x": {ClusterID: "c", Epoch: 4}}, ""},
		{"asks where it was told to join", "", 0, false, standings{"x": {ClusterID: "c", Epoch: 4, State: meta.Removed}}, "removed"},
		{"another cluster does not count", "a b c", 5, false, standings{"b": {ClusterID: "z", Epoch: 9, State: meta.Removed}}, ""},
		{"nor does one that is not created", "a b c", 5, false, standings{"b": {Epoch: 9}}, ""},
	} {
		view := viewOf(c.view)
		view.Epoch = c.epoch
		v := NewVigil(VigilConfig{
			Self: "a", ClusterID: "c", View: func() *meta.View { return view }, HearsLeader: func() bool { return c.hears },
			Caller: c.others, Peers: func() []string { return []string{"b", "c", "x"} }, Log: quietLog(),
		})
		got := v.look(t.Context())
		if got == "" {
			got = v.look(t.Context()) // once is not deaf
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// flaky fails some knocks, then lets them through to a function.
type flaky struct {
	fail  int
	calls []string
	then  knockAnswer
}

func (f *flaky) Call(_ context.Context, addr string, _ uint8, _ []byte) ([]byte, error) {
	f.calls = append(f.calls, addr)
	if len(f.calls) <= f.fail {
		return nil, fmt.Errorf("%s: connection refused", addr)
	}
	return json.Marshal(f.then)
}

func TestAJoinTriesEveryAddress(t *testing.T) {
	welcome, err := json.Marshal(Welcome{ClusterID: "c1", Creation: meta.Creation{LockSlots: 1, HeartbeatMs: 1, ElectionMs: 1, Seeds: make([]meta.HashSeed, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{fail: 4, then: knockAnswer{Body: welcome}}
	w, err := Join(t.Context(), f, []string{"a", "b", "c"}, JoinRequest{}, quietLog())
	if err != nil || w.ClusterID != "c1" {
		t.Fatal(w, err)
	}
	if got := strings.Join(f.calls, ""); got != "abcab" {
		t.Fatalf("asked %s", got)
	}
}

func TestAJoinThatIsRefusedEndsAtOnceInWords(t *testing.T) {
	f := &flaky{then: knockAnswer{Refusal: meta.ErrNameTaken}}
	_, err := Join(t.Context(), f, []string{"a", "b"}, JoinRequest{}, quietLog())
	refusedWith(t, err, meta.ErrNameTaken, "a refused: another node has this name")
	if len(f.calls) != 1 {
		t.Fatalf("asked %v", f.calls)
	}
}

func TestAJoinThatNobodyAnswersEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &flaky{fail: 1 << 30}
	f.then = knockAnswer{}
	stopAfter := caller(func(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error) {
		if len(f.calls) == 3 {
			cancel()
		}
		return f.Call(ctx, addr, kind, payload)
	})
	_, err := Join(ctx, stopAfter, []string{"a", "b"}, JoinRequest{}, quietLog())
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no node of a, b took this one in") || !strings.Contains(err.Error(), "connection refused") {
		t.Fatal(err)
	}
	if _, err := Join(t.Context(), f, nil, JoinRequest{}, quietLog()); err == nil || !strings.Contains(err.Error(), "no address was given") {
		t.Fatal(err)
	}
}

type caller func(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error)

func (c caller) Call(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error) {
	return c(ctx, addr, kind, payload)
}
