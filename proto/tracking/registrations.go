package tracking

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// registrations say which clients have which keys. They are divided into stripes, each
// with its lock, because commands on different keys run at the same time.
type registrations struct {
	seed    maphash.Seed
	stripes [stripes]stripe
	// keys and items count the keys and, key by key, their clients; bytes is the
	// length of all keys.
	keys, items, bytes atomic.Int64
	// next is where takeAny begins to look.
	next atomic.Uint32
}

const stripes = 64

type stripe struct {
	mu   sync.Mutex // guards keys
	keys map[string]*holders
}

// holders are the clients that have a key. Most keys have one.
type holders struct {
	first uint64
	more  map[uint64]struct{}
	// sweepAt is the number of further clients at which clients that are gone are swept out.
	sweepAt int
}

// sweepFirst is the number of holders of a key at which its first sweep is due.
const sweepFirst = 16

func (r *registrations) init() {
	r.seed = maphash.MakeSeed()
	for i := range r.stripes {
		r.stripes[i].keys = map[string]*holders{}
	}
}

func (r *registrations) stripe(key string) *stripe {
	return &r.stripes[maphash.String(r.seed, key)%stripes]
}

// add registers a key for a client. alive reports whether a client still tracks.
func (r *registrations) add(key string, id uint64, alive func(uint64) bool) {
	s := r.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.keys[key]
	if h == nil {
		s.keys[key] = &holders{first: id, sweepAt: sweepFirst}
		r.keys.Add(1)
		r.items.Add(1)
		r.bytes.Add(int64(len(key)))
		return
	}
	if h.first == id {
		return
	}
	if _, known := h.more[id]; known {
		return
	}
	if len(h.more) >= h.sweepAt {
		r.items.Add(-h.sweep(alive))
	}
	if h.more == nil {
		h.more = map[uint64]struct{}{}
	}
	h.more[id] = struct{}{}
	r.items.Add(1)
}

// sweep takes out clients that are gone and returns how many they were.
func (h *holders) sweep(alive func(uint64) bool) int64 {
	before := len(h.more)
	// order does not matter: each is judged by itself
	for id := range h.more {
		if !alive(id) {
			delete(h.more, id)
		}
	}
	h.sweepAt = max(sweepFirst, 2*len(h.more))
	return int64(before - len(h.more))
}

// take forgets a key for all clients except keep (0 is none), and returns those clients,
// or nil.
func (r *registrations) take(key []byte, keep uint64) []uint64 {
	s := &r.stripes[maphash.Bytes(r.seed, key)%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.keys[string(key)]
	if h == nil {
		return nil
	}
	if keep != 0 && h.has(keep) {
		return r.others(h, keep)
	}
	delete(s.keys, string(key))
	return r.ids(len(key), h)
}

func (h *holders) has(id uint64) bool {
	_, more := h.more[id]
	return more || h.first == id
}

// others takes all clients of a key out but one, and returns them.
func (r *registrations) others(h *holders, keep uint64) []uint64 {
	var ids []uint64
	if h.first != keep {
		ids = append(ids, h.first)
	}
	// order does not matter: each client gets a message of its own
	for id := range h.more {
		if id != keep {
			ids = append(ids, id)
		}
	}
	*h = holders{first: keep, sweepAt: sweepFirst}
	r.items.Add(-int64(len(ids)))
	return ids
}

// ids are the clients of a key that has left the table; bytes is the length of its name.
func (r *registrations) ids(bytes int, h *holders) []uint64 {
	ids := append(make([]uint64, 0, 1+len(h.more)), h.first)
	// order does not matter: each client gets a message of its own
	for id := range h.more {
		ids = append(ids, id)
	}
	r.keys.Add(-1)
	r.items.Add(-int64(len(ids)))
	r.bytes.Add(-int64(bytes))
	return ids
}

// takeAny forgets some key. ids are nil if there is none.
func (r *registrations) takeAny() (key string, ids []uint64) {
	for range stripes {
		s := &r.stripes[r.next.Add(1)%stripes]
		s.mu.Lock()
		// order does not matter: any key will do
		for key, h := range s.keys {
			delete(s.keys, key)
			ids = r.ids(len(key), h)
			s.mu.Unlock()
			return key, ids
		}
		s.mu.Unlock()
	}
	return "", nil
}

// clear forgets all keys.
func (r *registrations) clear() {
	for i := range r.stripes {
		s := &r.stripes[i]
		s.mu.Lock()
		// order does not matter: all are forgotten
		for key, h := range s.keys {
			r.bytes.Add(-int64(len(key)))
			r.keys.Add(-1)
			r.items.Add(-int64(1 + len(h.more)))
		}
		s.keys = map[string]*holders{}
		s.mu.Unlock()
	}
}
