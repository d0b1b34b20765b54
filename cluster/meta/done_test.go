package meta

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"lockstep/cluster/meta/leaderrpc"
)

// applyAs applies a command that belongs to an order.
func (l *log) applyAs(o leaderrpc.Order, c Command) Result {
	l.t.Helper()
	f, err := newFrame(c)
	if err != nil {
		l.t.Fatal(err)
	}
	f.ID, f.Seen = idOf(o.ID, f.Kind, f.Args), o.Seen
	data, err := f.encode()
	if err != nil {
		l.t.Fatal(err)
	}
	done, forget, err := l.m.expect(f.ID)
	if err != nil {
		l.t.Fatal(err)
	}
	defer forget()
	l.entries = append(l.entries, data)
	if err := l.m.Apply(uint64(len(l.entries)), data); err != nil {
		l.t.Fatal(err)
	}
	return <-done
}

func set(name, value string) *SetSettings {
	return &SetSettings{Set: map[string]string{name: value}}
}

// TestACopyOfAnOrderIsAnsweredAndNotCarriedOut: the answer to a copy is the answer to the first,
// even if that was a refusal, and whatever has changed since.
func TestACopyOfAnOrderIsAnsweredAndNotCarriedOut(t *testing.T) {
	l := created(t, 1)
	index := func() uint64 { return l.m.View().Index }
	first := leaderrpc.Order{ID: 1, Seen: index()}
	was := l.applyAs(first, set("maxmemory", "1gb"))
	l.applyAs(leaderrpc.Order{ID: 2, Seen: index()}, set("maxmemory", "2gb"))
	if got := l.applyAs(first, set("maxmemory", "1gb")); got != was || !was.Changed {
		t.Errorf("%+v, not %+v", got, was)
	}
	if got := l.m.View().Settings["maxmemory"]; got != "2gb" {
		t.Errorf("maxmemory is %s", got)
	}
	refused := leaderrpc.Order{ID: 3, Seen: index()}
	drain := &MarkDrained{ID: "n2.0000000000000002", Drained: true}
	if r := l.applyAs(refused, drain); !errors.Is(r.Err, ErrUnknownNode) {
		t.Fatal(r.Err)
	}
	l.must(&AddNode{Node: testNode("n2", 2, 7001)})
	if r := l.applyAs(refused, drain); !errors.Is(r.Err, ErrUnknownNode) {
		t.Errorf("what was refused is done later: %+v", r)
	}
	// Another command of the same order is no copy.
	if r := l.applyAs(refused, &MarkDrained{ID: "n2.0000000000000002"}); r.Err != nil {
		t.Error(r.Err)
	}
}

// TestAnOrderThatANewerOneOvertookIsRefused: an order arrives after a newer order about the same
// thing was carried out. Orders about other things do not matter.
func TestAnOrderThatANewerOneOvertookIsRefused(t *testing.T) {
	l := created(t, 1)
	l.must(&AddNode{Node: testNode("n2", 2, 7001)})
	n2 := testNode("n2", 2, 7001)
	moved := &UpdateNode{ID: n2.ID, PeerAddr: "m2:7000", ClientAddr: "m2:6379"}
	for name, c := range map[string]struct{ late, newer Command }{
		"a setting":     {set("a", "old"), set("a", "new")},
		"one that goes": {&SetSettings{Unset: []string{"a"}}, set("a", "newer")},
		"one of two":    {&SetSettings{Set: map[string]string{"a": "x", "b": "x"}}, set("b", "y")},
		"drained":       {&MarkDrained{ID: n2.ID, Drained: true}, &MarkDrained{ID: n2.ID}},
		"replicas":      {&SetReplicas{Count: 3}, &SetReplicas{Count: 2}},
		"an address":    {&UpdateNode{ID: n2.ID, PeerAddr: "old:7000", ClientAddr: "old:6379"}, moved},
	} {
		seen := l.m.View().Index
		l.applyAs(leaderrpc.Order{ID: 100 + seen, Seen: seen}, c.newer)
		before := *l.m.View()
		if r := l.applyAs(leaderrpc.Order{ID: 200 + seen, Seen: seen}, c.late); !errors.Is(r.Err, leaderrpc.ErrOvertaken) {
			t.Errorf("%s: %+v", name, r)
		}
		after := *l.m.View()
		if after.Epoch != before.Epoch || !reflect.DeepEqual(after.Settings, before.Settings) {
			t.Errorf("%s: something was changed", name)
		}
		if r := l.applyAs(leaderrpc.Order{ID: 300 + seen, Seen: seen}, set("other", fmt.Sprint(seen))); r.Err != nil {
			t.Errorf("%s: another thing: %v", name, r.Err)
		}
	}
}

// TestAnOrderOfLongAgoIsRefused: no node remembers whether such an order was carried out. The
// memory is bounded, and it is part of the snapshot.
func TestAnOrderOfLongAgoIsRefused(t *testing.T) {
	l := created(t, 1)
	old := leaderrpc.Order{ID: 1, Seen: l.m.View().Index}
	l.applyAs(old, set("a", "1"))
	for i := range uint64(doneMax) {
		if r := l.applyAs(old, set("a", "1")); r.Err != nil {
			t.Fatalf("after %d others: %v", i, r.Err)
		}
		l.applyAs(leaderrpc.Order{ID: 10 + i, Seen: l.m.View().Index}, set("b", fmt.Sprint(i)))
	}
	if r := l.applyAs(old, set("a", "1")); !errors.Is(r.Err, leaderrpc.ErrForgotten) {
		t.Errorf("%+v", r)
	}
	v := l.m.View()
	if len(v.Done) != doneMax || v.Forgotten == 0 {
		t.Errorf("%d are remembered, %d is forgotten", len(v.Done), v.Forgotten)
	}
	restored := throughSnapshot(t, l.m)
	if !reflect.DeepEqual(restored.View().Done, v.Done) || restored.View().Forgotten != v.Forgotten {
		t.Error("a snapshot does not remember the same")
	}
}

// stoppedWire holds back the requests to one node, as the socket of a stopped process does.
type stoppedWire struct {
	wire
	stopped string
	held    chan []byte
}

func (w stoppedWire) Call(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error) {
	if addr == w.stopped {
		w.held <- payload
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.wire.Call(ctx, addr, kind, payload)
}

// TestACopyThatWasHeldUpUndoesNothing: the first attempt of an order waits in the socket of a
// stopped node. The second attempt is carried out and acknowledged, and so is a newer order. Then
// the stopped node continues and passes on the first attempt. That attempt once undid the newer
// order.
func TestACopyThatWasHeldUpUndoesNothing(t *testing.T) {
	t.Parallel() // an attempt takes its time
	log, rpcs := &sharedLog{machines: map[string]*Machine{}, leader: "l"}, wire{}
	held := make(chan []byte, 16)
	all := map[string]*Client{}
	knows := true // whether node a knows a leader; it has just been started
	for _, name := range []string{"a", "p", "l"} {
		log.machines[name] = NewMachine()
		c := leaderrpc.New(leaderrpc.Config{
			Caller: stoppedWire{rpcs, "p", held},
			Leader: func(uint32) (string, bool) {
				if name == "a" && !knows {
					knows = true // when asked again, it knows
					return "", false
				}
				return log.leads(), log.leads() == name
			},
			Peers: func() []string { return []string{"p"} },
			Seen:  func() uint64 { return log.machines[name].View().Index },
		})
		t.Cleanup(c.Close)
		rpcs[name] = c
		all[name] = NewClient(log.machines[name], sharedLogOf{log, name}, c, nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	do := func(c Command) {
		t.Helper()
		if _, err := all["a"].Do(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	do(&CreateCluster{ClusterID: "c1", ClusterVersion: 1, Creation: testCreation(1), Founder: testNode("n1", 1, 7000)})
	knows = false
	do(set("maxmemory", "1gb")) // the first attempt is held at p
	do(set("maxmemory", "2gb"))
	late := <-held
	answered := make(chan []byte, 1)
	rpcs["p"].Serve(late, func(b []byte) { answered <- b })
	t.Logf("p passes it on, and hears %s", <-answered)
	if got := all["a"].View().Settings["maxmemory"]; got != "2gb" {
		t.Errorf("maxmemory is %s: an order that was acknowledged before the newer one was done again behind it", got)
	}
}

// TestWhatIsRememberedIsBoundedInBytes: commands with many subjects make the machine forget older
// ones.
func TestWhatIsRememberedIsBoundedInBytes(t *testing.T) {
	l := created(t, 1)
	many := func(value string) *SetSettings {
		c := &SetSettings{Set: map[string]string{}}
		for i := range MaxSettings {
			c.Set[fmt.Sprintf("%0100d", i)] = value
		}
		return c
	}
	old := leaderrpc.Order{ID: 1, Seen: l.m.View().Index}
	for i := range uint64(20) {
		l.applyAs(leaderrpc.Order{ID: 2 + i, Seen: l.m.View().Index}, many(fmt.Sprint(i)))
	}
	bytes, done := 0, l.m.View().Done
	for _, d := range done[:len(done)-1] {
		bytes += d.bytes()
	}
	if bytes > doneBytesMax || bytes < doneBytesMax/2 {
		t.Errorf("%d bytes are remembered", bytes)
	}
	if r := l.applyAs(old, set("a", "1")); !errors.Is(r.Err, leaderrpc.ErrForgotten) {
		t.Errorf("%+v", r)
	}
}
