package shard

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

const (
	// poolMax is how many of the best candidates are remembered between draws.
	poolMax = 64
	// poolKeep is how long they are remembered: a key that was the best choice then may
	// be in use by now.
	poolKeep = time.Second
	// picksPerLock is how many keys are chosen for each lock slot that is searched.
	picksPerLock = 4
	// samplesMax bounds maxmemory-samples.
	samplesMax = 64
	// drawsMax bounds the lock slots that are searched for one entry.
	drawsMax = 4 * evictKeysMax
	// nearestSlots is how many lock slots are searched first for the nearest expiries.
	nearestSlots = 64
)

// evictPool chooses keys to evict. As Redis does, it does not keep keys in the order of
// their use: it samples some keys, and takes the best of these and of the best from
// earlier samples.
//
// For the policy that evicts the nearest expiry first, sampling is not needed: lock slots
// keep their keys in that order.
type evictPool struct {
	// best is sorted; the last element goes first.
	best []scored
	at   time.Time
	// sums[i] is the number of keys in lock slots 0 to i.
	sums  []int64
	drawn []engine.Candidate
	// taken are the keys of the current batch.
	taken map[poolKey]struct{}
}

type poolKey struct {
	db  int
	key string
}

// scored is a candidate with its score; the highest score goes first.
type scored struct {
	engine.Candidate
	score int64
}

// batch collects the keys that one entry deletes.
type batch struct {
	needBytes, nameBytes int64
	chosen               []engine.Candidate
}

func (b *batch) add(c engine.Candidate) {
	b.chosen = append(b.chosen, c)
	b.needBytes -= int64(c.Bytes)
	b.nameBytes += int64(len(c.Key))
}

func (b *batch) full() bool {
	return b.needBytes <= 0 || len(b.chosen) >= evictKeysMax || b.nameBytes >= evictBytesMax
}

// choose returns keys of the shard that take about needBytes, as many as one
// entry deletes.
func (p *evictPool) choose(s *Shard, settings *command.Settings, needBytes int64) []engine.Candidate {
	b := batch{needBytes: needBytes}
	policy := settings.Policy()
	if policy == command.PolicyVolatileTTL && p.chooseNearest(s, &b) {
		return b.chosen
	}
	now := time.Now()
	if now.Sub(p.at) > poolKeep {
		p.best = p.best[:0]
	}
	p.at = now
	p.taken = map[poolKey]struct{}{}
	p.weigh(s.machine.Keyspace(), policy.Volatile())
	score := scorer(s, settings)
	samples := int(min(settings.EvictionSamples, samplesMax))
	if policy == command.PolicyAllKeysRandom || policy == command.PolicyVolatileRandom {
		samples = 1
		p.best = p.best[:0]
	}
	// So many keys must have been looked at for each key that goes. If the keys are few,
	// all of them are in the pool soon.
	looked := 0
	for draws := 0; !b.full() && draws < drawsMax; draws++ {
		looked += max(p.draw(s, policy.Volatile(), samples*picksPerLock, score), 1)
		p.moveBest(&b, looked/samples)
		looked %= samples
	}
	return b.chosen
}

// scorer returns the score of a candidate under a policy: the greater, the sooner it
// goes.
func scorer(s *Shard, settings *command.Settings) func(*engine.Candidate) int64 {
	minute := uint16(0)
	if s.cfg.Machine.UseTick != nil {
		minute = engine.UseMinute(s.cfg.Machine.UseTick())
	}
	lfu := settings.LFU()
	switch policy := settings.Policy(); {
	case policy.LFU():
		// Of keys used equally often, the one not used for longest goes first.
		return func(c *engine.Candidate) int64 {
			return int64(engine.UnusedMin(c.Use, minute)) - int64(lfu.Count(c.Use, minute))<<16
		}
	case policy == command.PolicyVolatileTTL:
		return func(c *engine.Candidate) int64 { return -c.ExpireAtMs }
	case policy == command.PolicyAllKeysRandom, policy == command.PolicyVolatileRandom:
		return func(*engine.Candidate) int64 { return rand.Int64() }
	}
	return func(c *engine.Candidate) int64 { return -int64(c.Use) }
}

// weigh adds up the number of keys in each lock slot, so that a slot is drawn with a
// probability in proportion to its keys.
func (p *evictPool) weigh(ks *engine.Keyspace, volatile bool) {
	p.sums = slices.Grow(p.sums[:0], ks.LockSlots())
	var sum int64
	for slot := range int32(ks.LockSlots()) {
		sum += max(ks.Weight(slot, volatile), 0)
		p.sums = append(p.sums, sum)
	}
}

// draw samples n keys of a random lock slot. It returns how many of them were new.
func (p *evictPool) draw(s *Shard, volatile bool, n int, score func(*engine.Candidate) int64) int {
	total := p.sums[len(p.sums)-1]
	if total == 0 {
		return 0
	}
	at := rand.Int64N(total)
	slot := int32(sort.Search(len(p.sums), func(i int) bool { return p.sums[i] > at }))
	// Otherwise all keys of a small shard would be drawn, good candidates or not.
	n = min(n, max(int(s.machine.Keyspace().Weight(slot, volatile)), 1))
	lookInto(s, slot, func(ks *engine.Keyspace) { p.drawn = ks.Sample(p.drawn[:0], slot, volatile, n, rand.IntN) })
	fresh := 0
	for i := range p.drawn {
		if p.offer(scored{p.drawn[i], score(&p.drawn[i])}) {
			fresh++
		}
	}
	return fresh
}

// lookInto calls look while it holds a lock slot shared.
func lookInto(s *Shard, slot int32, look func(ks *engine.Keyspace)) {
	var ticket sched.Ticket
	access := sched.Access{Slots: []sched.SlotMode{{Slot: slot, Mode: sched.Shared}}}
	// The order matters: nothing changes the keys of a state that is being replaced.
	ks, locks := s.machine.Keyspace(), s.machine.Sched()
	if locks.Lock(s.ctx, &ticket, &access) != nil {
		return
	}
	look(ks)
	locks.Unlock(&ticket)
}

// offer puts a candidate into the pool if it is among the best. It returns true if the
// candidate was not in the pool before.
func (p *evictPool) offer(c scored) bool {
	if _, taken := p.taken[poolKey{c.DB, c.Key}]; taken {
		return false
	}
	if i := slices.IndexFunc(p.best, func(o scored) bool { return o.DB == c.DB && o.Key == c.Key }); i >= 0 {
		p.best = slices.Delete(p.best, i, i+1)
		p.insert(c)
		return false
	}
	p.insert(c)
	return true
}

func (p *evictPool) insert(c scored) {
	i, _ := slices.BinarySearchFunc(p.best, c, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	p.best = slices.Insert(p.best, i, c)
	if len(p.best) > poolMax {
		p.best = slices.Delete(p.best, 0, 1)
	}
}

// moveBest moves the best of the pool into the batch.
func (p *evictPool) moveBest(b *batch, n int) {
	for ; n > 0 && len(p.best) > 0 && !b.full(); n-- {
		c := p.best[len(p.best)-1]
		p.best = p.best[:len(p.best)-1]
		p.taken[poolKey{c.DB, c.Key}] = struct{}{}
		b.add(c.Candidate)
	}
}

// chooseNearest chooses the keys with the nearest expiry. It returns false if it found
// none. It searches the lock slots with the nearest keys, each up to the time at which
// the next slot starts: so the chosen keys expire before all others.
func (p *evictPool) chooseNearest(s *Shard, b *batch) bool {
	ks := s.machine.Keyspace()
	type due struct {
		atMs int64
		slot int32
	}
	var slots []due
	for slot := range int32(ks.LockSlots()) {
		if at := ks.SlotDueMs(slot); at != 0 {
			slots = append(slots, due{at, slot})
		}
	}
	slices.SortFunc(slots, func(a, b due) int { return cmp.Compare(a.atMs, b.atMs) })
	var found []engine.Candidate
	for n := nearestSlots; len(found) == 0 && len(slots) > 0; n *= 2 {
		untilMs := int64(math.MaxInt64)
		if n < len(slots) {
			untilMs = slots[n].atMs
		}
		for _, d := range slots[:min(n, len(slots))] {
			lookInto(s, d.slot, func(ks *engine.Keyspace) { found = ks.AppendNearest(found, d.slot, untilMs, evictKeysMax) })
		}
		if n >= len(slots) || s.ctx.Err() != nil {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b engine.Candidate) int { return cmp.Compare(a.ExpireAtMs, b.ExpireAtMs) })
	for i := 0; i < len(found) && !b.full(); i++ {
		b.add(found[i])
	}
	return len(found) > 0
}
