package shard

import (
	"slices"
	"sync"
	"sync/atomic"

	"lockstep/engine/command"
)

// Memory is the memory that the shards of one node use together: maxmemory limits the
// sum. The zero value is a node without shards.
type Memory struct {
	mu     sync.Mutex // held while shards is replaced
	shards atomic.Pointer[[]*Shard]
}

// add adds a shard to the sum.
func (m *Memory) add(s *Shard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := append([]*Shard{s}, m.all()...)
	m.shards.Store(&all)
}

// remove removes a shard from the sum.
func (m *Memory) remove(s *Shard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(m.all()), func(x *Shard) bool { return x == s })
	m.shards.Store(&all)
}

func (m *Memory) all() []*Shard {
	if all := m.shards.Load(); all != nil {
		return *all
	}
	return nil
}

// UsedBytes is about the memory of the shards of this node: see fsm.Machine.MemoryBytes.
func (m *Memory) UsedBytes() int64 {
	var sum int64
	for _, s := range m.all() {
		sum += s.machine.MemoryBytes()
	}
	return sum
}

// evictable is how much of the node's keys a policy may choose from, in bytes or in keys.
func (m *Memory) evictable(p command.Policy) int64 {
	var sum int64
	for _, s := range m.all() {
		sum += s.evictor.evictable(p)
	}
	return sum
}

// evictable is this shard's part of Memory.evictable: bytes, or the number of keys if the
// policy may evict only some keys.
func (v *evictor) evictable(p command.Policy) int64 {
	ks := v.shard.machine.Keyspace()
	switch {
	case p == command.PolicyNone:
		return 0
	case p.Volatile():
		return ks.AllKeys(true)
	}
	return ks.MemoryBytes()
}

// reserveBytes is how far below the limit eviction keeps the memory, so that
// writes seldom have to wait for it.
func reserveBytes(limitBytes int64) int64 {
	const (
		part = 64
		most = 4 << 20
	)
	return min(limitBytes/part, most)
}

// Full reports whether this node refuses a write that may need memory: more is used than
// maxmemory allows, and no key can be evicted. It reads the settings of any one shard:
// all shards have the same settings, except for moments.
func (m *Memory) Full() bool {
	all := m.all()
	if len(all) == 0 {
		return false
	}
	settings := all[0].machine.Settings()
	return m.full(&settings)
}

func (m *Memory) full(s *command.Settings) bool {
	return s.MemoryBytesMax > 0 && m.UsedBytes() > s.MemoryBytesMax && m.evictable(s.Policy()) == 0
}
