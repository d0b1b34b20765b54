package tracking

import (
	"sync"
	"sync/atomic"

	"lockstep/fsm"
)

// authorsMax is how many txns of NOLOOP clients are remembered: those of the last seconds on a busy
// node. A node that is further behind the log sends some messages that are not necessary.
const authorsMax = 1 << 16

// authors remember which txns clients with NOLOOP sent. A txn runs on this node
// sooner or later than its reply comes, so its end is no reason to forget it;
// its identity never comes again, so remembering does no harm.
type authors struct {
	some atomic.Bool
	mu   sync.Mutex // guards what follows
	by   map[txn]uint64
	// ring holds the txns in the order in which they came.
	ring []txn
	next int
}

// txn is a txn of this gateway.
type txn struct {
	shard int
	boot  uint64
	lane  uint32
	seq   uint64
}

// Sent records which client sent a txn to a shard. It must be called before the txn
// is sent.
func (t *Table) Sent(shard int, id fsm.TxnID, client uint64) {
	a, x := &t.authors, txn{shard, id.Boot, id.Lane, id.Seq}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[txn]uint64{}
	}
	a.by[x] = client
	a.some.Store(true)
	if len(a.ring) < authorsMax {
		a.ring = append(a.ring, x)
		return
	}
	delete(a.by, a.ring[a.next])
	a.ring[a.next] = x
	a.next = (a.next + 1) % authorsMax
}

// of is the client that sent a txn, 0 if it is not known.
func (a *authors) of(t *Table, shard int, id fsm.TxnID) uint64 {
	if !a.some.Load() || id.Node != t.node {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[txn{shard, id.Boot, id.Lane, id.Seq}]
}

func (a *authors) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.some.Store(false)
	a.by, a.ring, a.next = nil, nil, 0
}
