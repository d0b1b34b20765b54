package client

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Registry holds the open connections of the node.
type Registry struct {
	nextID atomic.Uint64
	mu     sync.Mutex // guards all
	all    map[uint64]*Connection

	monitors   monitors
	pause      pause
	migrations migrations
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{all: map[uint64]*Connection{}, migrations: make(migrations, migrationsMax)}
}

func (r *Registry) add(c *Connection) {
	c.id = r.nextID.Add(1)
	r.mu.Lock()
	r.all[c.id] = c
	r.mu.Unlock()
}

func (r *Registry) remove(c *Connection) {
	r.mu.Lock()
	delete(r.all, c.id)
	r.mu.Unlock()
}

// Len is the number of open connections.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// Buffers is the memory that the connections hold.
type Buffers struct {
	// QueryMax and WaitingMax are the largest buffer of requests and the largest of
	// replies, Bytes the total of all.
	QueryMax, WaitingMax, Bytes int64
	// Listening is the number of clients with subscriptions, Watching the number of
	// clients that watch keys.
	Listening, Watching int
}

// Buffers adds up what the connections hold.
func (r *Registry) Buffers() Buffers {
	var b Buffers
	for _, c := range r.each() {
		use := c.conn.Usage()
		b.QueryMax, b.WaitingMax = max(b.QueryMax, use.QueryBytes), max(b.WaitingMax, use.WaitingBytes)
		bytes, _ := c.heldBytes()
		b.Bytes += bytes
		c.mu.Lock()
		if c.sub+c.psub+c.ssub > 0 {
			b.Listening++
		}
		if c.watch > 0 {
			b.Watching++
		}
		c.mu.Unlock()
	}
	return b
}

// each returns the clients, in no order.
func (r *Registry) each() []*Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Connection, 0, len(r.all))
	for _, c := range r.all {
		all = append(all, c)
	}
	return all
}

// Total is the number of connections there have ever been.
func (r *Registry) Total() uint64 { return r.nextID.Load() }

// Find returns the client with an id, or nil if there is none.
func (r *Registry) Find(id uint64) *Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[id]
}

// Connections returns the clients by id.
func (r *Registry) Connections() []*Connection {
	all := r.each()
	slices.SortFunc(all, func(a, b *Connection) int { return cmp.Compare(a.id, b.id) })
	return all
}
