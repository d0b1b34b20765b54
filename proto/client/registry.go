package client

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Registry knows the open connections of the node.
type Registry struct {
	nextID atomic.Uint64
	mu     sync.Mutex
	all    map[uint64]*Client

	monitors   monitors
	pause      pause
	migrations migrations
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{all: map[uint64]*Client{}, migrations: make(migrations, migrationsMax)}
}

func (r *Registry) add(c *Client) {
	c.id = r.nextID.Add(1)
	r.mu.Lock()
	r.all[c.id] = c
	r.mu.Unlock()
}

func (r *Registry) remove(c *Client) {
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

// Buffers are what the connections hold in memory.
type Buffers struct {
	// QueryMax and WaitingMax are the largest buffer of requests and of replies,
	// Bytes all together.
	QueryMax, WaitingMax, Bytes int64
	// Listening is the number of clients with subscriptions, Watching that of
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
		c.shared.mu.Lock()
		if c.shared.sub+c.shared.psub+c.shared.ssub > 0 {
			b.Listening++
		}
		if c.shared.watch > 0 {
			b.Watching++
		}
		c.shared.mu.Unlock()
	}
	return b
}

// each returns the clients, in no order.
func (r *Registry) each() []*Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Client, 0, len(r.all))
	for _, c := range r.all {
		all = append(all, c)
	}
	return all
}

// Total is the number of connections there have been.
func (r *Registry) Total() uint64 { return r.nextID.Load() }

// find returns the client with an id, nil if there is none.
func (r *Registry) find(id uint64) *Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[id]
}

// sorted returns the clients by id.
func (r *Registry) sorted() []*Client {
	all := r.each()
	slices.SortFunc(all, func(a, b *Client) int { return cmp.Compare(a.id, b.id) })
	return all
}

// kill ends a connection, at the latest when its batch at hand is answered.
func (c *Client) kill() {
	c.shared.killed.Store(true)
	_ = c.conn.Close()
}

// kind is the client's type, as CLIENT LIST and KILL know types.
func (c *Client) kind() string {
	c.shared.mu.Lock()
	defer c.shared.mu.Unlock()
	if c.shared.sub+c.shared.psub+c.shared.ssub > 0 {
		return "pubsub"
	}
	return "normal"
}

// line describes a client as CLIENT LIST does, in the fields of Redis 7.2, the version that INFO names: client
// libraries refuse a field that they do not know. What a Go server has no number for is 0.
func (c *Client) line(now time.Time) string {
	use := c.conn.Usage()
	held, _ := c.heldBytes()
	s := &c.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	last := "NULL"
	if s.last != nil {
		last = s.last.Name
	}
	flags := s.flagsNow(c.pushes.isBroken())
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d multi=%d"+
		" qbuf=%d qbuf-free=0 argv-mem=0 multi-mem=%d rbs=0 rbp=0 obl=0 oll=0 omem=%d tot-mem=%d events=r cmd=%s user=%s redir=%d resp=%d"+
		" lib-name=%s lib-ver=%s",
		c.id, c.conn.RemoteAddr(), c.conn.LocalAddr(), -1, s.name, int(now.Sub(s.created).Seconds()), int(now.Sub(s.lastUsed).Seconds()),
		flags, s.db, s.sub, s.psub, s.ssub, s.multi,
		use.QueryBytes, s.txBytes, use.WaitingBytes, held, last, s.user.Name, s.redirect, s.proto,
		s.libName, s.libVer)
}
