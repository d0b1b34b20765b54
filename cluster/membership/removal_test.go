package membership

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/transport"
)

// standings answers a removal watch's questions, by address.
type standings map[string]Standing

func (s standings) Call(_ context.Context, addr string, kind uint8, _ []byte) ([]byte, error) {
	a, ok := s[addr]
	switch {
	case !ok || kind != KindKnock:
		return nil, errors.New("connection refused")
	case a.ClusterID == "z":
		return nil, fmt.Errorf("%w: this node belongs to cluster z", transport.ErrRefused)
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
		{"leaving, and removed by now", "a:leaving b c", 5, true, standings{"b": {ClusterID: "c", Epoch: 9, State: meta.Removed}}, "removed by an operator"},
		{"leaderless, and nobody answers", "a b c", 5, false, nil, ""},
		{"leaderless, but a member", "a b c", 5, false, standings{"b": {ClusterID: "c", Epoch: 9, State: meta.Member}}, ""},
		{"leaderless, and removed", "a b c", 5, false, standings{"c": {ClusterID: "c", Epoch: 9, State: meta.Removed, ReplacedBy: "d"}}, "replaced by node d"},
		{"removed so long ago that it is forgotten", "a b c", 5, false, standings{"b": {ClusterID: "c", Epoch: 6}}, "removed by an operator"},
		{"not heard of yet by one that is behind", "a b c", 5, false, standings{"b": {ClusterID: "c", Epoch: 4}}, ""},
		{"knows nothing itself yet", "", 0, false, standings{"x": {ClusterID: "c", Epoch: 4}}, ""},
		{"asks where it was told to join", "", 0, false, standings{"x": {ClusterID: "c", Epoch: 4, State: meta.Removed}}, "removed"},
		{"another cluster does not count", "a b c", 5, false, standings{"b": {ClusterID: "z", Epoch: 9, State: meta.Removed}}, ""},
		{"nor does one that is not created", "a b c", 5, false, standings{"b": {Epoch: 9}}, ""},
	} {
		view := viewOf(c.view)
		view.Epoch = c.epoch
		v := NewRemovalWatch(RemovalWatchConfig{
			Self: "a", ClusterID: "c", View: func() *meta.View { return view }, KnowsLeader: func() bool { return c.hears },
			Caller: c.others, Peers: func() []string { return []string{"b", "c", "x"} }, Log: quietLog(),
		})
		v.asked = true // as after the node's start
		got := v.check(t.Context())
		if got != "" && len(view.Tombstones) == 0 && !c.hears {
			t.Errorf("%s: leaderless for one look is not leaderless", c.name)
		} else if got == "" {
			got = v.check(t.Context())
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// At its start a node asks even though it has a leader: it reports its current address, records
// which node answers at which address, and logs a stranger once.
func TestANodeThatStartsMeetsTheOthers(t *testing.T) {
	var log bytes.Buffer
	var asked []standingQuestion
	others := standings{"b": {By: "b.1", ClusterID: "c", State: meta.Member}, "c": {By: "c.1"}, "x": {ClusterID: "z"}, "y": {By: "a.1", ClusterID: "c"}}
	met := map[meta.NodeID]string{}
	v := NewRemovalWatch(RemovalWatchConfig{
		Self: "a.1", PeerAddr: "new:1", ClusterID: "c", View: func() *meta.View { return viewOf("a b c") }, KnowsLeader: func() bool { return len(asked) < 4 },
		Caller: caller(func(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error) {
			var k knock
			var q standingQuestion
			if err := errors.Join(json.Unmarshal(payload, &k), json.Unmarshal(k.Body, &q)); err != nil {
				t.Error(err)
			}
			asked = append(asked, q)
			return others.Call(ctx, addr, kind, payload)
		}),
		Peers:        func() []string { return []string{"b", "c", "x", "y"} },
		LearnAddress: func(id meta.NodeID, addr string) { met[id] = addr },
		Log:          slog.New(slog.NewTextHandler(&log, nil)),
	})
	for look, want := range []int{4, 4, 8} { // at its start; after one and two looks without a leader
		if why := v.check(t.Context()); why != "" || len(asked) != want {
			t.Fatalf("look %d: %q, %d questions", look, why, len(asked))
		}
	}
	if asked[0] != (standingQuestion{Node: "a.1", PeerAddr: "new:1"}) {
		t.Errorf("%+v", asked[0])
	}
	if !maps.Equal(met, map[meta.NodeID]string{"b.1": "b", "c.1": "c"}) {
		t.Errorf("met %v", met)
	}
	if strings.Count(log.String(), "this node belongs to cluster z") != 1 || !strings.Contains(log.String(), "address=x") {
		t.Errorf("said %q", log.String())
	}
}

// flaky makes the first knocks fail and answers the later ones.
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
