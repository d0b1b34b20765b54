package router

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/cluster/shard"
)

// KindLeader asks a replica for the leader of its shard: shard u32. Answer: the answering
// node's incarnation u64, term uv, length of the id uv, id, address. The id is empty if
// the replica knows of no leader.
const KindLeader uint8 = 4

const (
	// askEvery is the least time between two rounds of questions about one shard.
	askEvery = 20 * time.Millisecond
	// askedMax bounds the questions about one shard that have no answer yet. A node that
	// was stopped leaves its questions open for a long time.
	askedMax = 64
	// doubtAfter is how long an attempt waits before the router asks the shard's replicas
	// whether another node leads by now. It asks again each time as long has passed.
	doubtAfter = 250 * time.Millisecond
)

// leaders finds the leader of each shard. The leader comes from this node's replica or
// from the messages in which nodes name leaders (package leaders), whichever has the
// newer term. If neither names a leader, or the leader turned out to be wrong, the
// replicas are asked.
type leaders struct {
	router *Router
	rows   []leaderRow
}

type leaderRow struct {
	// asked is when the last round of questions began, in Unix nanoseconds.
	asked atomic.Int64
	// open counts the questions without an answer.
	open atomic.Int64
}

// Leader is the leader of a shard as far as this node knows. It names no node while an
// election is in progress. If no leader is known, the replicas are asked, so that a later
// call may return one.
func (r *Router) Leader(index int) shard.Leader {
	l := r.leaders.of(index)
	if l.Addr == "" {
		r.leaders.ask(index)
	}
	return l
}

func (l *leaders) of(index int) shard.Leader {
	var own shard.Leader
	if replica := l.router.cfg.Replica(index); replica != nil {
		if own = replica.Leader(); own.Self {
			return own
		}
	}
	// This node knows better than others whether it leads. To send requests to itself
	// would leave some of them without an answer when their time is over.
	known := l.router.cfg.known(index)
	if !known.Self && (known.Term > own.Term || known.Term == own.Term && own.Addr == "") {
		return known
	}
	return own
}

// ask asks all replicas of a shard, unless it did so a moment ago.
func (l *leaders) ask(index int) {
	row := &l.rows[index]
	now := time.Now().UnixNano()
	last := row.asked.Load()
	if now-last < int64(askEvery) || row.open.Load() >= askedMax || !row.asked.CompareAndSwap(last, now) {
		return
	}
	// The term is read before the replicas are asked: a replica that led by then has
	// reached that term when it answers.
	claim := l.router.cfg.known(index)
	payload := leaderQuestion(index)
	addrs := l.router.cfg.Replicas(index)
	if claim.Addr != "" && !slices.Contains(addrs, claim.Addr) {
		addrs = append(slices.Clone(addrs), claim.Addr)
	}
	shut := l.router.ways.shut(index)
	for _, addr := range addrs {
		if addr == shut {
			continue // a question to it is open already; more would use up the room
		}
		row.open.Add(1)
		l.router.cfg.Peers.Go(addr, KindLeader, payload, func(reply []byte, err error) {
			row.open.Add(-1)
			if err == nil {
				l.learn(index, addr, claim, reply)
			}
		})
	}
}

// learn records what a replica says about its leader. If a node is claimed to have led in
// a term that it has not reached, its answer shows that the claim is false.
func (l *leaders) learn(index int, addr string, claim shard.Leader, reply []byte) {
	c := &l.router.cfg
	by, said, ok := decodeLeader(reply)
	if !ok {
		return
	}
	l.router.ways.said(index, addr, said)
	if c.Disprove != nil && claim.Addr != "" && said.Term < claim.Term {
		c.Disprove(index, claim, by)
	}
	if said.Addr != "" {
		c.Learn(index, said)
	}
}

// leaderQuestion is a KindLeader request.
func leaderQuestion(index int) []byte {
	return binary.LittleEndian.AppendUint32(nil, uint32(index))
}

func (c *Config) known(index int) shard.Leader {
	if c.Known == nil {
		return shard.Leader{}
	}
	return c.Known(index)
}

// Doubt asks the replicas who leads a shard: the leader that this node knows has turned
// out to be wrong.
func (r *Router) Doubt(index int) { r.leaders.ask(index) }

// ServeLeader handles a KindLeader request. It does not block.
func (v *Server) ServeLeader(payload []byte, reply func([]byte)) {
	replica, _ := v.local(payload)
	if replica == nil {
		reply(appendLeader(nil, v.router.cfg.Node, shard.Leader{}))
		return
	}
	reply(appendLeader(nil, v.router.cfg.Node, replica.Leader()))
}

func appendLeader(dst []byte, by uint64, l shard.Leader) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, by)
	dst = binary.AppendUvarint(dst, l.Term)
	dst = binary.AppendUvarint(dst, uint64(len(l.ID)))
	return append(append(dst, l.ID...), l.Addr...)
}

func decodeLeader(b []byte) (by uint64, l shard.Leader, ok bool) {
	if len(b) < 8 {
		return 0, l, false
	}
	by, b = binary.LittleEndian.Uint64(b), b[8:]
	term, width := binary.Uvarint(b)
	if width <= 0 {
		return 0, l, false
	}
	b = b[width:]
	n, width := binary.Uvarint(b)
	if width <= 0 || n > uint64(len(b)-width) {
		return 0, l, false
	}
	b = b[width:]
	return by, shard.Leader{Term: term, ID: string(b[:n]), Addr: string(b[n:])}, true
}
