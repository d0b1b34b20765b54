package router

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/fsm"
)

// mesh is three nodes: the gateway a, the follower b and the leader c. A message from one to
// another can be lost at once, or held until free is called.
type mesh struct {
	mu         sync.Mutex
	routers    map[string]*Router
	lost, held map[string]bool // by sender and receiver
	waiting    []func()
	counts     map[uint8]int
}

var meshNodes = map[string]uint64{"a": 1, "b": 2, "c": 3}

// meshPeers sends one node's messages to the others.
type meshPeers struct {
	*mesh
	at string
}

// Go implements Peers.
func (p meshPeers) Go(addr string, kind uint8, payload []byte, done func([]byte, error)) {
	p.mu.Lock()
	p.counts[kind]++
	lost, held := p.lost[p.at+addr], p.held[p.at+addr]
	deliver := func() { p.serve(p.at, addr, kind, payload, func(b []byte) { done(b, nil) }) }
	if held && !lost {
		p.waiting = append(p.waiting, deliver)
	}
	p.mu.Unlock()
	switch {
	case lost:
		done(nil, transport.ErrNotSent)
	case !held:
		deliver()
	}
}

func (m *mesh) serve(from, to string, kind uint8, payload []byte, reply func([]byte)) {
	r, node, payload := m.routers[to], meshNodes[from], bytes.Clone(payload)
	switch kind {
	case KindPropose:
		r.Server().ServePropose(node, payload, reply)
	case KindLeader:
		r.Server().ServeLeader(payload, reply)
	case KindWait:
		r.Server().ServeWait(node, present{}, payload, reply)
	case KindRead:
		go r.Server().ServeRead(context.Background(), payload, reply)
	case KindIndex:
		go r.Server().ServeIndex(context.Background(), payload, reply)
	case KindRelay:
		go r.Server().ServeRelay(context.Background(), node, present{}, payload, reply)
	case KindRelayed:
		go r.Server().ServeRelayed(context.Background(), present{}, payload, reply)
	default:
		reply(nil)
	}
}

// cut loses or holds the messages from the gateway to the leader.
func (m *mesh) cut(holds bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost["ac"], m.held["ac"] = !holds, holds
}

// free ends all cuts; the held messages arrive.
func (m *mesh) free() {
	m.mu.Lock()
	waiting := m.waiting
	m.waiting = nil
	clear(m.lost)
	clear(m.held)
	m.mu.Unlock()
	for _, deliver := range waiting {
		deliver()
	}
}

func (m *mesh) count(kind uint8) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[kind]
}

// meshOf returns such nodes around a leader.
func meshOf(leader Shard, timeoutMs int) (m *mesh, gateway *Router) {
	m = &mesh{routers: map[string]*Router{}, lost: map[string]bool{}, held: map[string]bool{}, counts: map[uint8]int{}}
	for at, node := range meshNodes {
		var replica Shard = &fakeShard{addr: "c", term: 3}
		if at == "c" {
			replica = leader
		}
		var others []string
		for other := range meshNodes {
			if other != at {
				others = append(others, other)
			}
		}
		m.routers[at] = New(Config{
			Node: node, Boot: 1, Layout: halves{}, TimeoutMs: func() int { return timeoutMs }, Peers: meshPeers{m, at},
			Replica: func(int) Shard { return replica }, Replicas: func(int) []string { return others },
			Learn: func(int, shard.Leader) {}, Member: func(node uint64) bool { return node <= 3 },
		})
	}
	return m, m.routers["a"]
}

// leaderOfMesh runs the bundles that it gets.
func leaderOfMesh(t *testing.T) *machineShard {
	s := newMachineShard(t)
	s.addr, s.term = "c", 3
	return s
}

// soonEnough is how long a call of a gateway that is cut off may take: it finds the way shut after
// half a second.
const soonEnough = 10 * time.Second

// A gateway that is cut off from the leader serves its clients through another node, and a call
// takes a moment. Before, it took as long as the cut, or until it was given up.
func TestAGatewayThatIsCutOffAsksThroughAnotherNode(t *testing.T) {
	for _, holds := range []bool{false, true} {
		for _, starts := range []bool{false, true} {
			t.Run(fmt.Sprintf("holds %v, starts %v", holds, starts), func(t *testing.T) {
				s := leaderOfMesh(t)
				m, r := meshOf(s, 60_000)
				incr(t, r, ":1\r\n")
				m.cut(holds)
				for i := range 20 {
					began := time.Now()
					write, read := callOf(0, "incr", "n"), callOf(0, "get", "n")
					for _, call := range []*cluster.Call{write, read} {
						runMesh(t, r, call, starts)
						if call.Err != nil {
							t.Fatalf("%v", call.Err)
						}
					}
					if string(write.Reply) != fmt.Sprintf(":%d\r\n", i+2) || time.Since(began) > soonEnough {
						t.Errorf("%q after %v", write.Reply, time.Since(began))
					}
				}
				if _, err := r.Indexes(t.Context(), []int{0}); err != nil {
					t.Errorf("an index: %v", err)
				}
				if r.CutOff(0) != "c" || r.Counters.Relayed.Load() < 40 || m.routers["b"].Counters.PassedOn.Load() < 40 {
					t.Errorf("cut off from %q; %d went through others", r.CutOff(0), r.Counters.Relayed.Load())
				}
				// The held messages arrive now. Their bundles have already run, and the direct way
				// is open.
				m.free()
				meshIsDirect(t, r)
				incr(t, r, ":22\r\n")
			})
		}
	}
}

// runMesh runs a call, by Do or by Go.
func runMesh(t *testing.T, r *Router, call *cluster.Call, starts bool) {
	t.Helper()
	if !starts {
		r.Do(t.Context(), []*cluster.Call{call})
		return
	}
	_, wait := begun(t, r, call)
	wait()
}

// meshIsDirect waits until calls go directly again.
func meshIsDirect(t *testing.T, r *Router) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		before := r.Counters.Relayed.Load()
		r.Do(t.Context(), []*cluster.Call{callOf(0, "get", "n")})
		if r.Counters.Relayed.Load() == before && r.CutOff(0) == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not go directly again")
		}
	}
}

// A leader that answers questions but takes long for a bundle is asked only directly.
func TestALeaderThatTakesLongIsNotAskedThroughOthers(t *testing.T) {
	s := &fakeShard{addr: "c", self: true, term: 3, hold: true, onHold: func() {}}
	m, r := meshOf(s, 1500)
	call := callOf(0, "incr", "n")
	r.Do(t.Context(), []*cluster.Call{call})
	if !errors.Is(call.Err, cluster.ErrUnknown) || m.count(KindRelay) != 0 || len(s.bundles) != 1 {
		t.Errorf("%v; %d requests went another way, %d bundles", call.Err, m.count(KindRelay), len(s.bundles))
	}
}

// A node that does not say that this leader leads is not used as a way: it does not reach the
// leader either.
func TestNobodyIsAskedWhoDoesNotHearTheLeader(t *testing.T) {
	for _, holds := range []bool{false, true} {
		m, r := meshOf(leaderOfMesh(t), 1000)
		m.routers["b"].cfg.Replica = func(int) Shard { return &fakeShard{term: 3} }
		m.cut(holds)
		call := callOf(0, "incr", "n")
		r.Do(t.Context(), []*cluster.Call{call})
		want := cluster.ErrNoLeader // certainly not executed
		if holds {
			want = cluster.ErrUnknown
		}
		if !errors.Is(call.Err, want) || m.count(KindRelay) != 0 {
			t.Errorf("holds %v: %v; %d requests went another way", holds, call.Err, m.count(KindRelay))
		}
	}
}

// If the second hop fails, the error says whether the call may have run.
func TestTheErrorOfASecondHopSaysWhetherItMayHaveRun(t *testing.T) {
	m, r := meshOf(leaderOfMesh(t), 1000)
	m.lost["ac"], m.lost["bc"] = true, true
	call := callOf(0, "incr", "n")
	r.Do(t.Context(), []*cluster.Call{call})
	if !errors.Is(call.Err, cluster.ErrNoLeader) || m.count(KindRelay) == 0 {
		t.Errorf("lost twice: %v, asked %d times", call.Err, m.count(KindRelay))
	}
	m.lost["bc"], m.held["bc"] = false, true
	call = callOf(0, "incr", "n")
	r.Do(t.Context(), []*cluster.Call{call})
	if !errors.Is(call.Err, cluster.ErrUnknown) {
		t.Errorf("held behind the second: %v", call.Err)
	}
}

// A waiting client is served through another node, its wait is renewed there, and two requests of
// one wait count as one.
func TestAWaitGoesThroughAnotherNode(t *testing.T) {
	for _, holds := range []bool{false, true} {
		l := &waitsLeader{fakeShard: fakeShard{addr: "c", self: true, term: 3}}
		l.answer = func(n int, _ shard.Wait) *shard.Result {
			if n < 3 {
				return failing(shard.ErrRenew)
			}
			return outcome(fsm.OutcomeDone, "*1\r\n")
		}
		m, r := meshOf(l, 60_000)
		m.cut(holds)
		call, waits := callOf(0, "blpop", "k", "0"), 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if !r.Block(ctx, 0, call, func() { waits++ }) || string(call.Reply) != "*1\r\n" || waits != 1 {
			t.Errorf("holds %v: %q, %v; told %d times that it waits", holds, call.Reply, call.Err, waits)
		}
		cancel()
		for _, w := range l.asked {
			if w.ID != l.asked[0].ID || w.ID.Node != 1 {
				t.Errorf("asked for %+v", w.ID)
			}
		}
		if r.Counters.Relayed.Load() == 0 {
			t.Error("it went directly")
		}
	}
}

// The end of a wait says that its requests went two ways: a held one may arrive after the end.
func TestTheEndOfAWaitThatWentTwoWaysSaysSo(t *testing.T) {
	l := &waitsLeader{fakeShard: fakeShard{addr: "c", self: true, term: 3}}
	l.answer = func(n int, w shard.Wait) *shard.Result {
		switch {
		case w.Last:
			return outcome(fsm.OutcomeUnserved, "")
		case n == 0:
			return failing(shard.ErrRenew)
		}
		return nil
	}
	m, r := meshOf(l, 60_000)
	m.cut(true)
	if call := callOf(0, "blpop", "k", "2"); r.Block(t.Context(), 2*time.Second, call, nil) {
		t.Errorf("%q, %v", call.Reply, call.Err)
	}
	if last := l.asked[len(l.asked)-1]; !last.Last || !last.TwoWays || r.Counters.Relayed.Load() == 0 {
		t.Errorf("the end is %+v", last)
	}
}

// The way through another node counts as open as long as that node keeps the request.
func TestARoadThroughAnotherNodeEnds(t *testing.T) {
	road := &longRoad{present{}, time.Now()}
	if road.SilentFor() > time.Second {
		t.Errorf("at first %v", road.SilentFor())
	}
	road.began = time.Now().Add(-2 * passMax)
	if road.SilentFor() < time.Hour {
		t.Errorf("at last %v", road.SilentFor())
	}
}

// A node vouches only for the gateway at the other end of the connection, and passes a request on
// once. The leader accepts a bundle only in the name of that gateway.
func TestWhatIsPassedOnIsJudged(t *testing.T) {
	s := leaderOfMesh(t)
	m, _ := meshOf(s, 1000)
	helper, leader := m.routers["b"], m.routers["c"]
	bundle := func(node uint64) []byte {
		b := fsm.Bundle{Origin: fsm.Origin{Node: node, Boot: 1}, Txns: []fsm.Txn{callOf(0, "incr", "n").Txn}}
		return fsm.AppendBundle([]byte{0, 0, 0, 0, 100}, &b)
	}
	named := func(gateway uint64, kind uint8, request []byte) []byte {
		payload := relayRequest(kind, request)
		binary.LittleEndian.PutUint64(payload, gateway)
		return payload
	}
	index := []byte{0, 0, 0, 0}
	asks := func(r *Router, from uint64, payload []byte) error {
		answer := make(chan []byte, 1)
		reply := func(b []byte) { answer <- b }
		if from > 0 {
			r.Server().ServeRelay(t.Context(), from, present{}, payload, reply)
		} else {
			r.Server().ServeRelayed(t.Context(), present{}, payload, reply)
		}
		return decodeResult(<-answer, 1, false).Err
	}
	for name, c := range map[string]struct {
		r       *Router
		from    uint64
		payload []byte
		want    error
	}{
		"its own":                      {helper, 1, relayRequest(KindPropose, bundle(1)), nil},
		"another's":                    {helper, 1, relayRequest(KindPropose, bundle(2)), cluster.ErrNotKnown},
		"one that names the gateway":   {helper, 1, named(1, KindPropose, bundle(1)), cluster.ErrNotKnown},
		"one to be passed on again":    {helper, 1, relayRequest(KindRelay, relayRequest(KindIndex, index)), cluster.ErrNotKnown},
		"a question":                   {helper, 1, relayRequest(KindLeader, index), cluster.ErrNotKnown},
		"a shard that there is not":    {helper, 1, relayRequest(KindIndex, []byte{9, 0, 0, 0}), cluster.ErrNotKnown},
		"to the leader":                {leader, 1, relayRequest(KindPropose, bundle(1)), nil},
		"vouched for":                  {leader, 0, named(1, KindPropose, bundle(1)), nil},
		"vouched for as another":       {leader, 0, named(2, KindPropose, bundle(1)), cluster.ErrNotKnown},
		"of nobody":                    {leader, 0, named(0, KindPropose, bundle(1)), cluster.ErrNotKnown},
		"of the leader":                {leader, 0, named(3, KindPropose, bundle(3)), cluster.ErrNotLeader},
		"of no member":                 {leader, 0, named(4, KindPropose, bundle(4)), cluster.ErrNotLeader},
		"at who does not lead":         {helper, 0, named(1, KindPropose, bundle(1)), nil},
		"at who does not lead, a read": {helper, 0, named(1, KindIndex, index), nil},
	} {
		before := m.count(KindRelayed)
		if err := asks(c.r, c.from, c.payload); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.from == 0 && m.count(KindRelayed) != before {
			t.Errorf("%s: it was passed on again", name)
		}
	}
}

// The requests that a node passes on are bounded in number and in time, and so are the waits among
// them.
func TestWhatANodePassesOnIsBounded(t *testing.T) {
	m, _ := meshOf(leaderOfMesh(t), 1000)
	m.held["bc"] = true
	helper := m.routers["b"]
	ask := func(kind uint8, request []byte) <-chan error {
		said := make(chan error, 2)
		helper.Server().ServeRelay(t.Context(), 1, present{}, relayRequest(kind, request), func(b []byte) { said <- decodeResult(b, 1, false).Err })
		return said
	}
	// The gateway waits ten milliseconds; an answer after that is too late.
	if err := <-ask(KindRead, []byte{0, 0, 0, 0, 10, 0}); !errors.Is(err, cluster.ErrUnknown) {
		t.Errorf("an answer that never comes: %v", err)
	}
	m.free()
	if n := helper.server.passing.Load(); n != 0 {
		t.Errorf("%d are passed on", n)
	}
	helper.server.passingWaits.Store(passingWaitsMax)
	if err := <-ask(KindWait, []byte{0, 0, 0, 0}); !errors.Is(err, cluster.ErrOverloaded) {
		t.Errorf("a wait too many: %v", err)
	}
	if err := <-ask(KindIndex, []byte{0, 0, 0, 0}); err != nil {
		t.Errorf("beside the waits: %v", err)
	}
	helper.server.passing.Store(passingMax)
	if err := <-ask(KindIndex, []byte{0, 0, 0, 0}); !errors.Is(err, cluster.ErrOverloaded) {
		t.Errorf("a request too many: %v", err)
	}
	if n := helper.server.passing.Load(); n != passingMax {
		t.Errorf("%d are passed on, not %d", n, passingMax)
	}
}
