// Package leaders keeps the leader of each shard, and spreads that knowledge until all
// nodes agree.
//
// A replica learns from Raft which node leads its group. That is a Leadership: a term
// and a node. A term has at most one leader, so of two Leaderships the one with the
// greater term is newer, whichever node reports it. Nodes that exchange everything they
// know therefore end up with the same Table. They exchange when something has changed,
// and once a second (Exchange). The router uses the table for shards of which its node
// has no replica that knows better, and adds what it learns from other nodes.
//
// While a shard has no leader the table names the last one.
//
// A node checks what others report as far as it can. A leader must be a node of the
// cluster, and its own replica must have reached the term. If it has not, it did not lead
// in that term. A node that finds that out forgets the report, does not accept it from
// others again, and can then learn the truth (Disprove). Otherwise a false report with a
// greatest term would lead every node to the wrong leader for ever.
package leaders

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// Leadership says that a node led a shard in a term. The zero value is no knowledge.
type Leadership struct {
	Term uint64
	// Node is the node's incarnation.
	Node uint64
}

// Table has the leader of each shard, as far as this node knows.
type Table struct {
	// mu is held while news is taken over.
	mu sync.Mutex
	// known is changed under mu, and read without it for each call of a client.
	known   []atomic.Pointer[Leadership]
	changes uint64
	// disproved are, by shard, the newest reports that have turned out false.
	disproved [][]Leadership
	// noted, unless nil, is called with all news, in order.
	noted func(shard int, l Leadership)
}

// NewTable returns an empty table.
func NewTable(shards int) *Table {
	t := &Table{known: make([]atomic.Pointer[Leadership], shards), disproved: make([][]Leadership, shards)}
	for i := range t.known {
		t.known[i].Store(&Leadership{})
	}
	return t
}

// OnNews sets a function that is called with all news, in order. Call it before the table is used.
// The function must not block or use the table.
func (t *Table) OnNews(f func(shard int, l Leadership)) { t.noted = f }

// Learn takes news over if it is newer than what was known, and reports whether it was.
func (t *Table) Learn(shard int, l Leadership) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.Node == 0 || l.Term <= t.known[shard].Load().Term || slices.Contains(t.disproved[shard], l) {
		return false
	}
	t.known[shard].Store(&l)
	t.changes++
	if t.noted != nil {
		t.noted(shard, l)
	}
	return true
}

// disprovedMax is how many false reports about a shard are remembered.
const disprovedMax = 64

// Disprove notes that a report was false: its node has not reached its term. Then nothing is
// known about the shard until the next report.
func (t *Table) Disprove(shard int, l Leadership) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *t.known[shard].Load() == l {
		t.known[shard].Store(&Leadership{})
		t.changes++
	}
	if slices.Contains(t.disproved[shard], l) {
		return
	}
	if t.disproved[shard] = append(t.disproved[shard], l); len(t.disproved[shard]) > disprovedMax {
		t.disproved[shard] = t.disproved[shard][1:]
	}
}

// Of returns the leader of a shard, or its last leader. It returns the zero value if nothing is
// known.
func (t *Table) Of(shard int) Leadership { return *t.known[shard].Load() }

// All returns the leader of each shard, and how often that has changed.
func (t *Table) All() (known []Leadership, changes uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known = make([]Leadership, len(t.known))
	for i := range t.known {
		known[i] = t.Of(i)
	}
	return known, t.changes
}

// Epoch grows with all true news: of two nodes, the one that knows more has the greater epoch. It
// is the sum of the terms.
func (t *Table) Epoch() uint64 {
	sum := uint64(0)
	for i := range t.known {
		sum += t.Of(i).Term
	}
	return sum
}

// leadershipBytes is the length of a Leadership on the wire: term u64, node u64.
const leadershipBytes = 16

var errLength = errors.New("leaders: a peer's table is not of this cluster's shards")

func encode(known []Leadership) []byte {
	b := make([]byte, 0, leadershipBytes*len(known))
	for _, l := range known {
		b = binary.LittleEndian.AppendUint64(b, l.Term)
		b = binary.LittleEndian.AppendUint64(b, l.Node)
	}
	return b
}

// learnAll takes over those entries of a peer's table that are newer and may be true.
func (t *Table) learnAll(b []byte, may func(shard int, l Leadership) bool) error {
	if len(b) != leadershipBytes*len(t.known) {
		return errLength
	}
	for shard := range t.known {
		row := b[leadershipBytes*shard:]
		l := Leadership{binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:])}
		if may(shard, l) {
			t.Learn(shard, l)
		}
	}
	return nil
}
