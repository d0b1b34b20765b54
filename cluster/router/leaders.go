package router

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"lockstep/cluster/shard"
)

// KindLeader asks a replica who leads its shard: shard u32. Answer: term uv, length
// of the id uv, id, address; an empty id if it knows of nobody. (5 was the kind by
// which leaders told other nodes of themselves; older ones still do, in vain.)
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
	if l.router.cfg.Known == nil {
		return own
	}
	if known := l.router.cfg.Known(index); known.Term > own.Term || known.Term == own.Term && own.Addr == "" {
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
	payload := binary.LittleEndian.AppendUint32(nil, uint32(index))
	for _, addr := range l.router.cfg.Replicas(index) {
		row.open.Add(1)
		l.router.cfg.Peers.Go(addr, KindLeader, payload, func(reply []byte, err error) {
			row.open.Add(-1)
			if said, ok := decodeLeader(reply); err == nil && ok && said.Addr != "" {
				l.router.cfg.Learn(index, said)
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
