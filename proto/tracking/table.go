// Package tracking records which clients of this node cache which keys, and sends
// them a message when a key changes (CLIENT TRACKING; redis.io, "Client-side
// caching in Redis").
//
// A node runs the whole log of the shards of which it has replicas, so it sees every
// change there, whichever client made it: at the end of a txn, while it holds its lock
// slots, the state machine gives the table the names of the keys that the txn changed.
// Changes in other shards come from a replica elsewhere (package cluster/feed). Names
// count without their database, as in Redis.
//
// # Why nothing stale is kept for ever
//
// A client may read through another node. The value it gets may be newer or older than
// what its own node has run, so it is not enough to register a key when it is read.
// Instead:
//
//  1. The client's pushes are held from before a key is registered until the reply
//     of the read has been written (package client).
//  2. The key is registered before the read is sent.
//  3. The read carries an index: how far this node had begun to run the log, or had
//     received its changes, when the read was sent, after 2. The leader answers from no
//     earlier state.
//
// Let the reply show the state after log position p, and let q be the first change of the
// key behind p. There are two cases.
//
// If this node runs q, or receives it, after 2, then q finds the registration, or another
// change has used up the registration since 2. In both cases an invalidation goes out
// after 2, and by 1 it stands behind the reply: the client drops what it has cached.
//
// If this node began to run q before 2, then by 3 the read was answered from a state that
// has q in it, against the choice of p. The read must demand such a state: a leader
// commits an entry and tells its followers, and a follower may run the entry before the
// leader does. A read that joins the log stands there behind everything that this node
// has run. A read from this node's own replica takes its ticket after 2, behind the
// tickets of all that runs.
//
// A snapshot that replaces the state is a change of every key. The table reports it when
// the node has the index of the snapshot, which 3 then sends. The same holds for a gap in
// the changes of a shard, once the index at which it ends is known. The first change uses
// up a registration, so a key that nobody reads again costs nothing more.
//
// With REDIRECT the messages leave by another connection, and nobody can order the two.
// They are sent no earlier than the reply. The client must do what it must do with Redis:
// forget a reply whose key was invalidated while the request was under way.
//
// A client with NOLOOP gets no message about its own changes, and keeps its registrations
// then: one may belong to a read that stands behind the change in a pipeline or a
// transaction, or that came before the change had run here.
//
// A node that is cut off reports nothing until it is back, and then everything. A node
// that ends takes its connections with it, and caches end with those.
//
// # Bounds
//
// The table holds tracking-table-max-keys keys, of 256 MB together. Beyond that it drops
// a key and invalidates it for the clients that had it. The clients of one key are the
// open ones that track: the others are swept out when their number has doubled. NOLOOP
// needs to know which client made which change; that memory is a ring, and a change that
// has left the ring is reported to all.
package tracking

import (
	"slices"
	"sync"
	"sync/atomic"

	"lockstep/fsm"
)

// Options are what a client asked for.
type Options struct {
	// BCast sends every change of a key with one of the prefixes; nothing is
	// registered then.
	BCast bool
	// OptIn registers only keys asked for behind CLIENT CACHING YES, OptOut all but
	// those behind CLIENT CACHING NO. Clients register, so they look at this; the
	// table does not.
	OptIn, OptOut bool
	// NoLoop spares the client messages about its own changes.
	NoLoop bool
	// Prefixes are for BCast; none stands for all keys.
	Prefixes []string
}

// heard are the prefixes of the keys that the client is told about, read or not.
func (o *Options) heard() []string {
	switch {
	case !o.BCast:
		return nil
	case len(o.Prefixes) == 0:
		return []string{""}
	}
	return o.Prefixes
}

// Listener is a client. The goroutine that changes keys calls Invalidate, which must not
// block and must not call the table.
type Listener interface {
	Invalidate(m *Message)
}

// tracker is a client that tracks.
type tracker struct {
	id       uint64
	listener Listener
	opt      Options
}

// Table is one node's tracking. All methods may be called by any goroutine.
type Table struct {
	// node is this gateway's incarnation, to know its own txns by.
	node uint64
	// tracking is the number of clients that track. If it is 0, changes do not matter.
	tracking atomic.Int64
	maxKeys  atomic.Int64
	// maxBytes is keysBytesMax; tests have less room.
	maxBytes int64
	// onFirst is called when the first client begins to track, and when the last has ended.
	onFirst func()

	// mu guards the clients. It is never taken under the lock of a stripe.
	mu      sync.RWMutex
	clients map[uint64]*tracker
	// prefixes are those of BCast clients.
	prefixes prefixes

	keys    registrations
	authors authors
}

// keysBytesMax bounds the names of the keys in a table.
const keysBytesMax = 256 << 20

// New returns an empty table of a gateway. SetMaxKeys can change maxKeys later. 0 means no limit.
func New(node uint64, maxKeys int64) *Table {
	t := &Table{node: node, maxBytes: keysBytesMax, clients: map[uint64]*tracker{}, prefixes: newPrefixes()}
	t.keys.init()
	t.maxKeys.Store(maxKeys)
	return t
}

// Set makes a client track, or changes how.
func (t *Table) Set(id uint64, l Listener, opt Options) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeLocked(id)
	c := &tracker{id, l, opt}
	t.clients[id] = c
	t.countLocked()
	for _, text := range opt.heard() {
		t.prefixes.add(text, c)
	}
}

// Remove ends the tracking of a client, if it tracks. Its registrations stay until a change
// or a sweep finds them.
func (t *Table) Remove(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeLocked(id)
	if t.countLocked(); len(t.clients) == 0 {
		t.keys.clear()
		t.authors.clear()
	}
}

func (t *Table) countLocked() {
	n := int64(len(t.clients))
	if was := t.tracking.Swap(n); (was == 0) != (n == 0) && t.onFirst != nil {
		t.onFirst()
	}
}

// OnFirst sets a function that is called when the first client begins to track, and when
// the last one has ended. It must not block and must not call the table. Set it before
// there are clients.
func (t *Table) OnFirst(changed func()) { t.onFirst = changed }

// Tracking reports whether there are clients that track.
func (t *Table) Tracking() bool { return t.tracking.Load() > 0 }

func (t *Table) removeLocked(id uint64) {
	c := t.clients[id]
	if c == nil {
		return
	}
	delete(t.clients, id)
	for _, text := range c.opt.heard() {
		t.prefixes.remove(text, c)
	}
}

// SetMaxKeys changes how many keys the table holds. 0 means no limit.
func (t *Table) SetMaxKeys(n int64) {
	t.maxKeys.Store(n)
	t.evict()
}

// Register records that a client will have the keys in its cache. Call it before the keys are read,
// and before the client's pushes are released.
func (t *Table) Register(id uint64, keys ...[]byte) {
	t.mu.RLock()
	for _, key := range keys {
		t.keys.add(string(key), id, t.aliveLocked)
	}
	t.mu.RUnlock()
	t.evict()
}

func (t *Table) aliveLocked(id uint64) bool { return t.clients[id] != nil }

// evict removes keys until the table is within its bounds.
func (t *Table) evict() {
	most := t.maxKeys.Load()
	for most > 0 && t.keys.keys.Load() > most || t.keys.bytes.Load() > t.maxBytes {
		key, ids := t.keys.takeAny()
		if ids == nil {
			return
		}
		t.tell(newMessage([]string{key}), ids)
	}
}

// tell sends a message to those of the clients that still register keys.
func (t *Table) tell(m *Message, ids []uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, id := range ids {
		if c := t.clients[id]; c != nil && !c.opt.BCast {
			c.listener.Invalidate(m)
		}
	}
}

// spared is the author of a change if it wants no message about it, else 0.
func (t *Table) spared(author uint64) uint64 {
	if author == 0 {
		return 0
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if c := t.clients[author]; c == nil || !c.opt.NoLoop {
		return 0
	}
	return author
}

// Shard is the fsm.Tracker of one shard.
func (t *Table) Shard(index int) fsm.Tracker { return shardTracker{t, index} }

type shardTracker struct {
	table *Table
	index int
}

// Tracking implements fsm.Tracker.
func (s shardTracker) Tracking() bool { return s.table.Tracking() }

// Changed implements fsm.Tracker.
func (s shardTracker) Changed(by fsm.TxnID, keys [][]byte) {
	t := s.table
	author := t.spared(t.authors.of(t, s.index, by))
	for _, key := range keys {
		if key == nil {
			t.TellAll()
			continue
		}
		if ids := t.keys.take(key, author); ids != nil {
			t.tell(newMessage([]string{string(key)}), ids)
		}
	}
	t.broadcast(keys, author)
}

// TellAll reports to every tracking client that any key may have changed.
func (t *Table) TellAll() {
	t.keys.clear()
	t.mu.RLock()
	defer t.mu.RUnlock()
	m := newMessage(nil)
	// order does not matter: each client gets the one message
	for _, c := range t.clients {
		c.listener.Invalidate(m)
	}
}

// broadcast sends to the BCast clients one message of a txn for each prefix, with the prefix's keys
// sorted.
func (t *Table) broadcast(keys [][]byte, author uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.prefixes.number() == 0 {
		return
	}
	sorted := make([]string, 0, len(keys))
	for _, key := range keys {
		if key != nil {
			sorted = append(sorted, string(key))
		}
	}
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for _, h := range t.prefixes.hits(sorted) {
		m := newMessage(h.keys)
		for _, c := range h.clients {
			if c.id != author {
				c.listener.Invalidate(m)
			}
		}
	}
}

// Counts are what INFO shows.
type Counts struct {
	// Clients is the number of tracking clients, Keys the number of keys in the table, Items
	// the sum of the clients of each key, and Prefixes the number of prefixes.
	Clients, Keys, Items, Prefixes int
}

// Counts returns the current numbers.
func (t *Table) Counts() Counts {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return Counts{len(t.clients), int(t.keys.keys.Load()), int(t.keys.items.Load()), t.prefixes.number()}
}
