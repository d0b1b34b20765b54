package router

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"lockstep/cluster/shard"
)

// Kinds of requests about who leads a shard.
const (
	// KindLeader asks a replica who leads its shard: shard u32. Answer: term uv,
	// length of the id uv, id, address; an empty id if it knows of nobody.
	KindLeader uint8 = 4
	// KindLeads tells that the sender leads a shard: shard u32, and behind it what
	// KindLeader answers. The answer is empty.
	KindLeads uint8 = 5
)

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

// leaders is who leads each shard as this node has heard, for the shards of
// which it has no replica. New leaders tell everybody; who has missed that, or
// whose knowledge has turned out wrong, asks the replicas. Of two answers the
// one of the newer term is believed.
type leaders struct {
	router *Router
	rows   []leaderRow
}

type leaderRow struct {
	heard atomic.Pointer[shard.Leader]
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

// Heard is who leads a shard as far as this node has heard; it asks nobody.
func (r *Router) Heard(index int) shard.Leader { return r.leaders.of(index) }

func (l *leaders) of(index int) shard.Leader {
	var own shard.Leader
	if replica := l.router.cfg.Replica(index); replica != nil {
		own = replica.Leader()
	}
	heard := l.rows[index].heard.Load()
	switch {
	case own.Self, heard == nil:
		return own
	case heard.Term > own.Term, heard.Term == own.Term && own.Addr == "":
		return *heard
	}
	return own
}

// hear takes note of an answer.
func (l *leaders) hear(index int, said shard.Leader) {
	if said.Addr == "" {
		return
	}
	row := &l.rows[index]
	for {
		was := row.heard.Load()
		if was != nil && (was.Term > said.Term || *was == said) {
			return
		}
		if row.heard.CompareAndSwap(was, &said) {
			return
		}
	}
}

// ask asks all replicas of a shard, unless it did so a moment ago.
func (l *leaders) ask(index int) {
	row := &l.rows[index]
	now := time.Now().UnixNano()
	last := row.asked.Load()
	if now-last < int64(askEvery) || row.open.Load() >= askedMax || !row.asked.CompareAndSwap(last, now) {
		return
	}
	payload := binary.LittleEndian.AppendUint32(nil, uint32(index))
	for _, addr := range l.router.cfg.Replicas(index) {
		row.open.Add(1)
		l.router.cfg.Peers.Go(addr, KindLeader, payload, func(reply []byte, err error) {
			row.open.Add(-1)
			if said, ok := decodeLeader(reply); err == nil && ok {
				l.hear(index, said)
			}
		})
	}
}

// Doubt asks who leads a shard: what this node knows of it has not proved true.
func (r *Router) Doubt(index int) { r.leaders.ask(index) }

// ServeLeader handles a KindLeader request. It does not block.
func (r *Router) ServeLeader(payload []byte, reply func([]byte)) {
	replica, _ := r.local(payload)
	if replica == nil {
		reply(appendLeader(nil, shard.Leader{}))
		return
	}
	reply(appendLeader(nil, replica.Leader()))
}

// Announce tells the nodes at addrs that this node leads a shard, if it does.
func (r *Router) Announce(index int, addrs []string) {
	replica := r.cfg.Replica(index)
	if replica == nil {
		return
	}
	l := replica.Leader()
	if !l.Self {
		return
	}
	payload := appendLeader(binary.LittleEndian.AppendUint32(nil, uint32(index)), l)
	for _, addr := range addrs {
		r.cfg.Peers.Go(addr, KindLeads, payload, func([]byte, error) {})
	}
}

// ServeLeads handles a KindLeads request. It does not block.
func (r *Router) ServeLeads(payload []byte, reply func([]byte)) {
	if index, body, ok := r.shardNumber(payload); ok {
		if said, ok := decodeLeader(body); ok {
			r.leaders.hear(index, said)
		}
	}
	reply(nil)
}

func appendLeader(dst []byte, l shard.Leader) []byte {
	dst = binary.AppendUvarint(dst, l.Term)
	dst = binary.AppendUvarint(dst, uint64(len(l.ID)))
	return append(append(dst, l.ID...), l.Addr...)
}

func decodeLeader(b []byte) (shard.Leader, bool) {
	term, width := binary.Uvarint(b)
	if width <= 0 {
		return shard.Leader{}, false
	}
	b = b[width:]
	n, width := binary.Uvarint(b)
	if width <= 0 || n > uint64(len(b)-width) {
		return shard.Leader{}, false
	}
	b = b[width:]
	return shard.Leader{Term: term, ID: string(b[:n]), Addr: string(b[n:])}, true
}
