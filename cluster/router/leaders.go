package router

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/cluster/shard"
)

// KindLeader asks a replica who leads its shard: shard u32. Answer: the answering node's
// incarnation u64, term uv, length of the id uv, id, address; an empty id if it knows of
// nobody.
const KindLeader uint8 = 4

const (
	// askEvery is the least time between two rounds of questions about one shard.
	askEvery = 20 * time.Millisecond
	// askedMax bounds the questions about one shard that have no answer yet: a
	// node that was stopped gives none for long.
	askedMax = 64
	// doubtAfter is how long an attempt waits before the shard's replicas are
	// asked whether another node leads by now, and again and again after as long.
	doubtAfter = 250 * time.Millisecond
)

// leaders finds out who leads each shard: this node's replica tells, or what nodes
// have told each other (package leaders), whichever is of the newer term. Where that
// has turned out wrong, or says nothing, the replicas are asked.
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

// Leader is who leads a shard as far as this node knows; of an election in
// progress, nobody. Where nobody is known, the replicas are asked, so that a
// later call may tell.
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
	if known := l.router.cfg.known(index); known.Term > own.Term || known.Term == own.Term && own.Addr == "" {
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
	// Before they are asked: who led then has come to that term when it answers.
	claim := l.router.cfg.known(index)
	payload := leaderQuestion(index)
	addrs := l.router.cfg.Replicas(index)
	if claim.Addr != "" && !slices.Contains(addrs, claim.Addr) {
		addrs = append(slices.Clone(addrs), claim.Addr)
	}
	shut := l.router.ways.shut(index)
	for _, addr := range addrs {
		if addr == shut {
			continue // it is asked already, and would fill the room with open questions
		}
		row.open.Add(1)
		l.router.cfg.Peers.Go(addr, KindLeader, payload, func(reply []byte, err error) {
			row.open.Add(-1)
			if err == nil {
				l.router.take(index, addr, claim, reply)
			}
		})
	}
}

// take takes over what a replica says of its leader. One that is claimed to have led in a
// term which it has not reached shows that the claim is false.
func (r *Router) take(index int, addr string, claim shard.Leader, reply []byte) {
	c := &r.cfg
	by, said, ok := decodeLeader(reply)
	if !ok {
		return
	}
	r.ways.said(index, addr, said)
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

// Doubt asks who leads a shard: what this node knows of it has not proved true.
func (r *Router) Doubt(index int) { r.leaders.ask(index) }

// ServeLeader handles a KindLeader request. It does not block.
func (r *Router) ServeLeader(payload []byte, reply func([]byte)) {
	replica, _ := r.local(payload)
	if replica == nil {
		reply(appendLeader(nil, r.cfg.Node, shard.Leader{}))
		return
	}
	reply(appendLeader(nil, r.cfg.Node, replica.Leader()))
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
