package router

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
)

// This file decides by which way a request goes to the leader of its shard: directly, or,
// if this node is cut off from the leader and another replica is not, through that
// replica's node (relayserve.go).
//
// Normally requests go directly. A request goes through another node only when two things
// are true. The direct way is shut: the connection is missing, or the leader has left a
// question of this node open while nothing came over the connection. And the other node
// has since said that this leader leads. While the way is shut, the router keeps asking
// the leader. The leader's first answer opens the direct way again. If no answer has come
// through other nodes for detourMax, the direct way is tried first again.
//
// A request that was sent directly and has no answer is sent the other way, too, and the
// first answer counts. So a bundle may reach the leader twice; its identity makes it run
// once.

const (
	// silentAfter is how long a question to the leader may stay open before the direct way
	// counts as shut.
	silentAfter = 250 * time.Millisecond
	// probeEvery is the least time between two such questions about one shard.
	probeEvery = 100 * time.Millisecond
	// detourMax is how long requests go through other nodes after the last answer that came
	// that way.
	detourMax = 5 * time.Second
	// turnAfter is how long a request that went by two ways waits before it tries one
	// more. The time doubles with each.
	turnAfter = 2 * time.Second
	// bytesPerMs is the slowest rate at which a request is expected to be sent. A long
	// request gets that much time before it is sent the other way, too.
	bytesPerMs = 1 << 10
	// helpersMax bounds how many nodes are recorded as able to reach a leader.
	helpersMax = 16
)

// ways are the ways to the leaders of all shards.
type ways struct {
	router *Router
	rows   []way
}

// way is what this node knows of the way to one shard's leader.
type way struct {
	// troubled, which needs no mu, is true if one of the fields below is set.
	troubled atomic.Bool

	mu sync.Mutex // guards what follows
	// leader is the peer address of the node that the rest is about.
	leader string
	// lost is true if the direct connection is missing.
	lost bool
	// open is the question to the leader that it has not answered. It is nil if there is
	// none. asked is when the last question was sent.
	open  *question
	asked time.Time
	// helpers are the nodes that have said since the trouble began that this leader leads.
	helpers []string
	// since is when the last answer came through one of them, or the trouble began.
	since time.Time
}

// question is one question to a leader. Questions are compared by their address.
type question struct{ put time.Time }

// aboutLocked makes the row about this leader.
func (y *way) aboutLocked(leader string) {
	if y.leader != leader || !y.troubled.Load() {
		y.resetLocked()
		y.leader, y.since = leader, time.Now()
	}
	y.troubled.Store(true)
}

// resetLocked clears the row: the direct way is open.
func (y *way) resetLocked() {
	y.leader, y.lost, y.open, y.asked, y.helpers = "", false, nil, time.Time{}, nil
	y.troubled.Store(false)
}

// shutLocked reports whether the direct way is shut.
func (w *ways) shutLocked(y *way) bool {
	if y.lost {
		return true
	}
	quiet := w.router.cfg.SilentFor
	return y.open != nil && time.Since(y.open.put) >= silentAfter && (quiet == nil || quiet(y.leader) >= silentAfter)
}

// via is the node through which a request to a shard's leader goes now. It returns "" if
// it goes directly.
func (w *ways) via(index int, leader string) (helper string) {
	y := &w.rows[index]
	if !y.troubled.Load() {
		return ""
	}
	y.mu.Lock()
	if y.leader != leader {
		y.resetLocked()
		y.mu.Unlock()
		return ""
	}
	if time.Since(y.since) > detourMax {
		y.lost, y.open, y.since = false, nil, time.Now()
	}
	shut := w.shutLocked(y)
	if shut && len(y.helpers) > 0 {
		helper = y.helpers[0]
	}
	y.mu.Unlock()
	w.probe(index, leader)
	if shut && helper == "" {
		w.router.leaders.ask(index) // a node that answers that this node leads can help
	}
	return helper
}

// probe asks the leader directly, unless a question to it is open.
func (w *ways) probe(index int, leader string) {
	y := &w.rows[index]
	y.mu.Lock()
	if leader == "" || y.leader != leader || y.open != nil || time.Since(y.asked) < probeEvery {
		y.mu.Unlock()
		return
	}
	q := &question{put: time.Now()}
	y.open, y.asked = q, q.put
	y.mu.Unlock()
	w.router.cfg.Peers.Go(leader, KindLeader, leaderQuestion(index), func(_ []byte, err error) {
		y.mu.Lock()
		if y.open == q {
			y.open = nil
		}
		y.mu.Unlock()
		w.answered(index, leader, "", nil, err)
	})
}

// doubt records that a request to the leader has had no answer for a while, and asks the
// leader. If the leader answers, the request just takes long.
func (w *ways) doubt(index int, leader string) {
	y := &w.rows[index]
	y.mu.Lock()
	y.aboutLocked(leader)
	y.mu.Unlock()
	w.probe(index, leader)
}

// said records which node leads a shard, as another node has said.
func (w *ways) said(index int, by string, said shard.Leader) {
	y := &w.rows[index]
	if !y.troubled.Load() {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	switch {
	case by == y.leader:
		y.resetLocked()
	case said.Addr == y.leader && len(y.helpers) < helpersMax && !slices.Contains(y.helpers, by):
		y.helpers = append(y.helpers, by)
	}
}

// answered records the outcome of a request to a leader. via is the node through which
// the request went, or "" if it went directly.
func (w *ways) answered(index int, leader, via string, answer []byte, err error) {
	y := &w.rows[index]
	if via == "" && (err == nil && !y.troubled.Load() || errors.Is(err, transport.ErrFull)) {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	switch about := y.troubled.Load() && y.leader == leader; {
	case via == "" && err == nil:
		if about {
			y.resetLocked()
		}
	case via == "":
		y.aboutLocked(leader)
		y.lost = true
	case !about:
	case err != nil || len(answer) == 0 || answer[0] == wireError(cluster.ErrNotLeader):
		y.helpers = slices.DeleteFunc(y.helpers, func(addr string) bool { return addr == via })
	default:
		y.since = time.Now()
	}
}

// passOver puts a node behind the others that can help, because its answer takes long.
func (w *ways) passOver(index int, helper string) {
	y := &w.rows[index]
	y.mu.Lock()
	defer y.mu.Unlock()
	if i := slices.Index(y.helpers, helper); i >= 0 {
		y.helpers = append(slices.Delete(y.helpers, i, i+1), helper)
	}
}

// shut is the address of a shard's leader if the direct way to it is shut, and "" if the
// way is open.
func (w *ways) shut(index int) string {
	y := &w.rows[index]
	if !y.troubled.Load() {
		return ""
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if w.shutLocked(y) {
		return y.leader
	}
	return ""
}

// CutOff is the peer address of a shard's leader if this node is cut off from it and
// another node is not, as far as requests to the leader have shown. Otherwise it is "".
// While this node is cut off, each call of CutOff may ask the leader.
func (r *Router) CutOff(index int) string {
	w, y := &r.ways, &r.ways.rows[index]
	if !y.troubled.Load() {
		return ""
	}
	leader := r.leaders.of(index).Addr
	y.mu.Lock()
	shut, helps := y.leader == leader && w.shutLocked(y), len(y.helpers) > 0
	y.mu.Unlock()
	w.probe(index, leader)
	switch {
	case shut && helps:
		return leader
	case shut:
		r.leaders.ask(index)
	}
	return ""
}

// Suspect asks the leader of a shard, as the router does after a request without an
// answer: this node's replica does not hear that leader. CutOff shows the outcome soon.
func (r *Router) Suspect(index int) {
	if leader := r.leaders.of(index); !leader.Self && leader.Addr != "" {
		r.ways.doubt(index, leader.Addr)
	}
}

// send is the one function that sends requests to a shard's leader. It uses the way that
// is open now, and returns that way. taken is called once with the answer, from any
// goroutine.
func (w *ways) send(index int, leader string, kind uint8, payload []byte, taken func([]byte, error)) (via string) {
	via = w.via(index, leader)
	to := leader
	if via != "" {
		w.router.Counters.Relayed.Add(1)
		to, kind, payload = via, KindRelay, relayRequest(kind, payload)
	}
	w.router.cfg.Peers.Go(to, kind, payload, func(answer []byte, err error) {
		w.answered(index, leader, via, answer, err)
		taken(answer, err)
	})
	return via
}

// turns records the requests that one attempt has sent. The lock of the sending guards
// it.
type turns struct {
	// via is the node through which the newest request went, or "" if it went directly.
	// sent is when it went.
	via  string
	sent time.Time
	// next is when another way may be tried, and pause is the time from then to the next
	// try.
	next  time.Time
	pause time.Duration
	// made counts the requests, and open those without an answer.
	made, open int32
}

// turnsOf starts the record of an attempt.
func turnsOf(req *request, now time.Time) turns {
	slow := time.Duration(len(req.bundle)/bytesPerMs) * time.Millisecond
	return turns{sent: now, next: now.Add(doubtAfter + slow), pause: turnAfter, made: 1, open: 1}
}

// turn sends the request of an attempt once more, if the open way is not the one it used
// last and it has waited long enough.
func (s *sending) turn(number int, to shard.Leader, now time.Time) {
	w := &s.router.ways
	s.mu.Lock()
	last, due := s.turns, s.open == number && s.kind != KindStale && !now.Before(s.turns.next)
	s.mu.Unlock()
	if to.Self || !due {
		return
	}
	if last.via != "" && now.Sub(last.sent) >= turnAfter {
		w.passOver(s.index, last.via)
	}
	if w.via(s.index, to.Addr) == last.via {
		return
	}
	if payload := s.turned(number, now); payload != nil {
		s.router.Counters.Retried.Add(1)
		s.sent(number, s.router.forward(to.Addr, &s.request, payload, func(res shard.Result) { s.answered(number, res, false) }))
	}
}

// turned encodes the request of an attempt, to be sent another way. It returns nil if the
// attempt has ended.
func (s *sending) turned(number int, now time.Time) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != number {
		return nil
	}
	t := &s.turns
	t.next, t.sent, t.pause, t.made, t.open = now.Add(t.pause), now, 2*t.pause, t.made+1, t.open+1
	// A bundle that is proposed twice may be found in the log.
	s.again = s.again || s.kind == KindPropose
	return s.encode()
}

// over counts an answer to one of the requests. It returns false if the answer to another
// one may be more useful.
func (t *turns) over(kind uint8, res *shard.Result) bool {
	t.open--
	switch writes := kind == KindPropose; {
	case res.Err == nil, t.made == 1, !writes && refusesForGood(res.Err):
	case t.open > 0:
		return false
	case writes:
		// What the leader says about one of the requests may be false for the other.
		res.Err = cluster.ErrUnknown
	}
	return true
}
