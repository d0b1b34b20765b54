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

// Which way a request goes to the leader of its shard: directly, or, where this node is cut
// off from the leader and another replica is not, through that one (relayserve.go).
//
// The direct way is the rule. A request goes through another node only when two things are
// true. The direct way is shut: the connection is missing, or the leader has left a question
// of this node open while nothing came over the connection. And the other node has said since
// then that this leader leads. While the way is shut the leader is asked again and again; with
// its first answer the direct way is open. Where no answer has come through other nodes for
// detourMax, the direct way is tried first again.
//
// A request that was sent directly and has no answer is sent the other way, too: the first
// answer counts. A bundle may so reach the leader twice; its identity makes it run once.

const (
	// silentAfter is how long a question to the leader may stay open before the direct way
	// counts as shut.
	silentAfter = 250 * time.Millisecond
	// probeEvery is the least time between two such questions about one shard.
	probeEvery = 100 * time.Millisecond
	// detourMax is how long requests go through other nodes after the last answer that came
	// that way.
	detourMax = 5 * time.Second
	// turnAfter is how long a request that went by two ways waits before it tries one more;
	// it doubles with each.
	turnAfter = 2 * time.Second
	// bytesPerMs is how fast a request is taken to be sent, at least: a long one is given
	// that time before it is sent the other way, too.
	bytesPerMs = 1 << 10
	// helpersMax bounds the nodes that are remembered to reach a leader.
	helpersMax = 16
)

// ways are the ways to the leaders of all shards.
type ways struct {
	router *Router
	rows   []way
}

// way is what this node knows of the way to one shard's leader.
type way struct {
	// troubled, without mu, tells that there is something to look at below.
	troubled atomic.Bool

	mu sync.Mutex // guards what follows
	// leader is the peer address of the node that the rest is about.
	leader string
	// lost is true if the direct connection is missing.
	lost bool
	// open is the question to the leader that it has not answered. It is nil if there is none.
	// asked is when the last one was put.
	open  *question
	asked time.Time
	// helpers are the nodes that have said since the trouble began that this leader leads.
	helpers []string
	// since is when the last answer came through one of them, or the trouble began.
	since time.Time
}

// question is one question to a leader; its address tells it from others.
type question struct{ put time.Time }

// aboutLocked makes a row one about a leader.
func (y *way) aboutLocked(leader string) {
	if y.leader != leader || !y.troubled.Load() {
		y.resetLocked()
		y.leader, y.since = leader, time.Now()
	}
	y.troubled.Store(true)
}

// resetLocked forgets all: the direct way is open.
func (y *way) resetLocked() {
	y.leader, y.lost, y.open, y.asked, y.helpers = "", false, nil, time.Time{}, nil
	y.troubled.Store(false)
}

// shutLocked reports whether the direct way is shut.
func (w *ways) shutLocked(y *way) bool {
	if y.lost {
		return true
	}
	quiet := w.router.cfg.Quiet
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
		w.router.leaders.ask(index) // who answers that this node leads can help
	}
	return helper
}

// probe asks the leader directly, if it is not being asked already.
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

// doubt says that a request to the leader has had no answer for a while. The leader is
// asked: if it answers, the request just takes long.
func (w *ways) doubt(index int, leader string) {
	y := &w.rows[index]
	y.mu.Lock()
	y.aboutLocked(leader)
	y.mu.Unlock()
	w.probe(index, leader)
}

// said takes note that a node has said who leads a shard.
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

// answered takes note of what became of a request to a leader that went through a node, or
// directly ("").
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

// passOver puts a node behind the others that can help: its answer takes long.
func (w *ways) passOver(index int, helper string) {
	y := &w.rows[index]
	y.mu.Lock()
	defer y.mu.Unlock()
	if i := slices.Index(y.helpers, helper); i >= 0 {
		y.helpers = append(slices.Delete(y.helpers, i, i+1), helper)
	}
}

// shut is the address of a shard's leader to which the direct way is shut. It returns ""
// if it is open.
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

// CutOff is the peer address of a shard's leader from which this node is cut off while another
// node hears that leader, as far as requests to the leader have shown. It returns "" if it is
// not. While it is, each call may ask the leader.
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

// Suspect has the leader of a shard asked, as a request to it that has no answer does: this
// node's replica does not hear it. CutOff tells soon what came of that.
func (r *Router) Suspect(index int) {
	if leader := r.leaders.of(index); !leader.Self && leader.Addr != "" {
		r.ways.doubt(index, leader.Addr)
	}
}

// send is the one place that sends what is for a shard's leader, by the way that is open now. It
// tells which that is. taken is called once with the answer, from any goroutine.
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

// turns are the requests of one attempt, under the lock of the sending.
type turns struct {
	// via is the node through which the newest went. It is "" if it went directly. sent
	// is when.
	via  string
	sent time.Time
	// next is when another way may be tried, and pause how long after that the next one.
	next  time.Time
	pause time.Duration
	// made counts them, open those without an answer.
	made, open int32
}

// turnsOf are those of an attempt that begins.
func turnsOf(req *request, now time.Time) turns {
	slow := time.Duration(len(req.bundle)/bytesPerMs) * time.Millisecond
	return turns{sent: now, next: now.Add(doubtAfter + slow), pause: turnAfter, made: 1, open: 1}
}

// turn sends the request of an attempt once more, if another way than it went last is open now, and
// it has waited long enough.
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

// turned is the request of an attempt, to be sent another way. It returns nil if the
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

// over takes an answer to one of the requests. It returns false if another one may bring
// more.
func (t *turns) over(kind uint8, res *shard.Result) bool {
	t.open--
	switch writes := kind == KindPropose; {
	case res.Err == nil, t.made == 1, !writes && refusesForGood(res.Err):
	case t.open > 0:
		return false
	case writes:
		// What one of the ways says is not true of what went the other way.
		res.Err = cluster.ErrUnknown
	}
	return true
}
