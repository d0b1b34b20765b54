package router

import (
	"sync"
	"testing"

	"lockstep/cluster"
	"lockstep/cluster/shard"
)

// town is a set of routers by address. Each has a replica or none.
type town struct {
	mu      sync.Mutex
	routers map[string]*Router
	asked   map[uint8]int
}

// Go implements Peers.
func (w *town) Go(addr string, kind uint8, payload []byte, done func([]byte, error)) {
	w.mu.Lock()
	w.asked[kind]++
	to := w.routers[addr]
	w.mu.Unlock()
	(&fakePeers{to: to}).Go(addr, kind, payload, done)
}

func (w *town) count(kind uint8) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[kind]
}

// townOf returns a gateway without a replica, and nodes with replicas at b and c.
func townOf(b, c *fakeShard) (*town, *Router) {
	w := &town{routers: map[string]*Router{}, asked: map[uint8]int{}}
	w.routers["b"] = routerOf(5000, w, b, b)
	w.routers["c"] = routerOf(5000, w, c, c)
	gateway := routerOf(5000, w, nil, nil)
	w.routers["a"] = gateway
	return w, gateway
}

func TestAGatewayWithoutAReplicaFindsTheLeaderAndRemembersIt(t *testing.T) {
	b, c := &fakeShard{addr: "c", term: 3}, &fakeShard{addr: "c", self: true, term: 3}
	w, gateway := townOf(b, c)
	for range 3 {
		call := callOf(0, "incr", "k")
		gateway.Do(t.Context(), []*cluster.Call{call})
		if call.Err != nil {
			t.Fatal(call.Err)
		}
	}
	if len(c.bundles) != 3 || w.count(KindLeader) != 2 {
		t.Errorf("%d bundles arrived, %d questions were asked", len(c.bundles), w.count(KindLeader))
	}
}

// The remembered leader no longer leads and says so. The router asks the replicas, and the call
// continues under its identity.
func TestAGatewayWithoutAReplicaFollowsAChangeOfLeader(t *testing.T) {
	b := &fakeShard{addr: "b", self: true, term: 3}
	c := &fakeShard{addr: "b", term: 3}
	_, gateway := townOf(b, c)
	first := callOf(0, "incr", "k")
	gateway.Do(t.Context(), []*cluster.Call{first})
	b.mu.Lock()
	b.steps = bytesOf(cluster.ErrNotLeader, 100)
	b.addr, b.self, b.term = "c", false, 4
	b.mu.Unlock()
	c.mu.Lock()
	c.addr, c.self, c.term = "c", true, 4
	c.mu.Unlock()
	second := callOf(0, "incr", "k")
	gateway.Do(t.Context(), []*cluster.Call{second})
	if first.Err != nil || second.Err != nil || len(c.bundles) != 1 {
		t.Errorf("%v, %v; %d bundles at the new leader", first.Err, second.Err, len(c.bundles))
	}
}

// A replica that was removed from its group knows no leader, and a new one may not know one yet.
func TestWhatTheReplicasSayCountsWhereTheOwnOneKnowsNobody(t *testing.T) {
	own := &fakeShard{}
	r := routerOf(100, &fakePeers{to: routerOf(100, nil, own, own)}, own, own)
	r.cfg.Learn(0, shard.Leader{Addr: "b", Term: 5})
	if l := r.Leader(0); l.Addr != "b" {
		t.Errorf("%+v", l)
	}
	own.term = 6
	if l := r.Leader(0); l.Addr != "" {
		t.Errorf("a leader of an earlier term is believed: %+v", l)
	}
	own.addr = "c"
	if l := r.Leader(0); l.Addr != "c" {
		t.Errorf("%+v", l)
	}
}

// A stale read goes to a replica that has caught up, and else to the leader.
// A leader that has lost its lead is not asked by itself, though the others still name it.
func TestANodeThatNoLongerLeadsDoesNotAskItself(t *testing.T) {
	own := &fakeShard{addr: "", term: 2}
	for _, replica := range []*fakeShard{own, nil} {
		r := routerOf(200, &fakePeers{}, replica, replica)
		r.cfg.Learn(0, shard.Leader{ID: "a", Addr: "a", Term: 2, Self: true})
		if l := r.leaders.of(0); l.Addr != "" || l.Self {
			t.Errorf("the leader is %+v", l)
		}
	}
	r := routerOf(200, &fakePeers{}, own, own)
	r.cfg.Learn(0, shard.Leader{ID: "b", Addr: "b", Term: 2})
	if l := r.leaders.of(0); l.Addr != "b" {
		t.Errorf("another node leads, and the leader is %+v", l)
	}
}

func TestStaleReadsOfAGatewayWithoutAReplica(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		b := &fakeShard{addr: "c", term: 3, fresh: fresh}
		c := &fakeShard{addr: "c", self: true, term: 3, fresh: fresh}
		w, gateway := townOf(b, c)
		call := callOf(0, "get", "k")
		call.Stale = true
		gateway.Do(t.Context(), []*cluster.Call{call})
		if call.Err != nil || string(call.Reply) != ":0\r\n" {
			t.Fatalf("%q, %v", call.Reply, call.Err)
		}
		if asked := w.count(KindRead) > 0; asked != fresh {
			t.Errorf("replicas caught up: %v; the leader was asked: %v", !fresh, asked)
		}
	}
}

func TestLeadersSurviveTheWire(t *testing.T) {
	l := shard.Leader{ID: "n1.0123", Addr: "n1:7000", Term: 1 << 40}
	data := appendLeader(nil, 7, l)
	if by, got, ok := decodeLeader(data); !ok || by != 7 || got != l {
		t.Errorf("%+v %v", got, ok)
	}
	for _, bad := range [][]byte{nil, {0x80}, data[:7], data[:9], append(data[:9:9], 1, 9, 'x')} {
		if _, _, ok := decodeLeader(bad); ok {
			t.Errorf("% x was taken", bad)
		}
	}
}

// TestALeaderOfATermThatNeverWasIsFoundOut: nodes have reported to each other that a node leads in
// a term that its replica has not reached. A node whose requests to it fail learns that the report
// is false, and finds the true leader. Nodes once asked the wrong one for ever.
func TestALeaderOfATermThatNeverWasIsFoundOut(t *testing.T) {
	for _, hasReplica := range []bool{false, true} {
		b, c := &fakeShard{addr: "c", term: 3}, &fakeShard{addr: "c", self: true, term: 3}
		w, gateway := townOf(b, c)
		if hasReplica {
			own := &fakeShard{addr: "c", term: 3}
			gateway = routerOf(5000, w, own, own)
		}
		w.routers["b"].cfg.Node, w.routers["c"].cfg.Node = 11, 12
		var mu sync.Mutex
		false60 := shard.Leader{ID: "b", Addr: "b", Term: 1 << 60}
		believed := false60
		gateway.cfg.Known = func(int) shard.Leader {
			mu.Lock()
			defer mu.Unlock()
			return believed
		}
		gateway.cfg.Learn = func(_ int, said shard.Leader) {
			mu.Lock()
			defer mu.Unlock()
			if said.Term > believed.Term {
				believed = said
			}
		}
		gateway.cfg.Disprove = func(_ int, claim shard.Leader, by uint64) {
			mu.Lock()
			defer mu.Unlock()
			if claim == false60 && by == 11 && believed == false60 {
				believed = shard.Leader{}
			}
		}
		call := callOf(0, "incr", "k")
		b.steps = bytesOf(cluster.ErrNotLeader, 10_000)
		gateway.Do(t.Context(), []*cluster.Call{call})
		if call.Err != nil || len(c.bundles) != 1 {
			t.Errorf("a replica of its own: %v; %v, %d bundles arrived", hasReplica, call.Err, len(c.bundles))
		}
	}
}
