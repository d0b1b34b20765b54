package shard

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/stepper"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/fsm"
)

const (
	// evictEvery is the longest time between two checks of the memory by the leader, if
	// there is a limit. evictEveryWaiting is the same while writes wait for memory: other
	// shards, and their leaders on other nodes, free memory without a message.
	evictEvery        = 100 * time.Millisecond
	evictEveryWaiting = 2 * time.Millisecond
	// evictWaitMax is how long a write waits for eviction before it is refused.
	evictWaitMax = time.Second
	// evictKeysMax and evictBytesMax bound one entry: the keys it deletes, and
	// their names.
	evictKeysMax  = 1024
	evictBytesMax = 256 << 10
)

// evictor keeps the memory of a shard's node below maxmemory, while this node leads the
// shard. The leader chooses the keys, by its own record of their use, and the log carries
// the deletions: no replica chooses for itself.
//
// A write that may need memory enters the log as long as the memory of the keys plus the
// growth on its way stays below the limit. Otherwise it waits here, in order of arrival,
// until enough keys have been evicted. If no key can be evicted, it is refused. Entries
// are never refused for lack of memory when they are applied.
type evictor struct {
	shard *Shard
	*stepper.Stepper
	pool evictPool
	// going is true while eviction runs. It starts when half of the reserve is used, and
	// ends when the whole reserve is free, so that it works in batches.
	going bool

	// waitingBytes is the sum over waiting. It may be read without the lock.
	waitingBytes atomic.Int64
	number       atomic.Int64
	mu           sync.Mutex // guards waiting, stopped
	// waiting are admitted bundles that are not queued yet; admission bounds them.
	waiting []waitingCall
	stopped bool
}

type waitingCall struct {
	call *bundleCall
	// growth is what the bundle may need in memory beyond its bytes.
	growth int64
	until  time.Time
}

func (v *evictor) init(s *Shard) {
	v.shard = s
	v.Stepper = stepper.New()
}

func (v *evictor) usedBytes() int64 { return v.shard.cfg.Memory.UsedBytes() }

// growthBytes is the most by which writes on their way can make this shard's keys grow,
// not counting what Go and the tables add.
func (v *evictor) growthBytes() int64 {
	_, bytes := v.shard.admit.outstanding()
	return max(bytes-v.waitingBytes.Load(), 0) + v.shard.admit.growth.Load()
}

// wait lets a bundle wait until there is room.
func (v *evictor) wait(c *bundleCall, growth int64) {
	v.mu.Lock()
	stopped := v.stopped
	if !stopped {
		v.waiting = append(v.waiting, waitingCall{c, growth, time.Now().Add(evictWaitMax)})
		v.waitingBytes.Add(int64(len(c.bundle)))
		v.number.Store(int64(len(v.waiting)))
	}
	v.mu.Unlock()
	if stopped {
		c.finish(Result{Err: cluster.ErrShuttingDown})
		return
	}
	v.Kick()
}

// loop evicts keys and releases waiting writes, until the shard is closed.
func (v *evictor) loop() {
	v.Run(v.shard.ctx, func(ctx context.Context) time.Duration {
		for v.round() && ctx.Err() == nil {
		}
		settings := v.shard.machine.Settings()
		switch {
		case v.number.Load() > 0:
			return evictEveryWaiting
		case settings.MemoryBytesMax > 0 && v.shard.Leads():
			return evictEvery
		}
		return idleEvery
	})
	v.stop()
}

func (v *evictor) stop() {
	v.mu.Lock()
	v.stopped = true
	v.mu.Unlock()
	v.release(func(*waitingCall) (bool, error) { return true, cluster.ErrShuttingDown })
}

// round evicts once if needed. It returns true if another round should follow.
func (v *evictor) round() bool {
	s := v.shard
	if !s.Leads() {
		v.release(func(*waitingCall) (bool, error) { return true, cluster.ErrNotLeader })
		return false
	}
	settings := s.machine.Settings()
	evicted := false
	if need := v.needBytes(&settings); need > 0 {
		evicted = v.evict(&settings, need)
	}
	v.admit(&settings)
	return evicted
}

// needBytes is this shard's part of the memory that the node uses above the limit less
// the reserve. Each shard's part is in proportion to what it can evict.
func (v *evictor) needBytes(settings *command.Settings) int64 {
	limit, policy := settings.MemoryBytesMax, settings.Policy()
	was := v.going
	v.going = false
	if limit == 0 || policy == command.PolicyNone {
		return 0
	}
	reserve := reserveBytes(limit)
	// Many bytes on their way may only overwrite values, so they count as no more than
	// the reserve.
	excess := v.usedBytes() + min(v.growthBytes(), reserve) - (limit - reserve)
	if excess <= 0 || (!was && excess <= reserve/2) {
		return 0
	}
	v.going = true
	own, all := v.evictable(policy), v.shard.cfg.Memory.evictable(policy)
	if own == 0 || all == 0 {
		return 0
	}
	return max(int64(float64(excess)*float64(min(own, all))/float64(all)), 1)
}

// evict deletes keys of about that size, but not more than one entry may delete. It
// returns true if it deleted any.
func (v *evictor) evict(settings *command.Settings, needBytes int64) bool {
	chosen := v.pool.choose(v.shard, settings, needBytes)
	if len(chosen) == 0 {
		return false
	}
	return v.propose(chosen) == nil
}

// propose puts the deletion of keys into the log and waits until it has executed.
// An error means that this node lost the lead.
func (v *evictor) propose(chosen []engine.Candidate) error {
	s := v.shard
	op := fsm.Op{Args: make([][]byte, 0, 1+3*len(chosen))}
	op.Args = append(op.Args, []byte("lockstep.evict"))
	for i := range chosen {
		c := &chosen[i]
		op.Args = append(op.Args, strconv.AppendInt(nil, int64(c.DB), 10), []byte(c.Key), strconv.AppendUint(nil, c.Version, 10))
	}
	return runOwn(s.ctx, fsm.Txn{Kind: fsm.KindEvict, Ops: []fsm.Op{op}}, func(bundle []byte, done func(Result)) {
		// The deletion must not wait for room that only the deletion can make.
		s.admit.force(1, len(bundle))
		s.proposer.enqueue(newBundleCall(bundle, 1, done, &s.admit))
	})
}

// admit queues waiting writes while there is room, and refuses those that will find none.
func (v *evictor) admit(settings *command.Settings) {
	if v.number.Load() == 0 {
		return
	}
	limit, now := settings.MemoryBytesMax, time.Now()
	full := v.shard.cfg.Memory.full(settings)
	v.release(func(w *waitingCall) (bool, error) {
		used := v.usedBytes()
		switch {
		case limit == 0 || used+v.growthBytes() <= limit:
			return true, nil
		case full, used > limit && now.After(w.until):
			return true, cluster.ErrOutOfMemory
		case now.After(w.until):
			return true, cluster.ErrOverloaded
		}
		return false, nil
	})
}

// release takes waiting writes out, oldest first, and queues or refuses each. It stops at
// the first that decide keeps.
func (v *evictor) release(decide func(*waitingCall) (goes bool, err error)) {
	for {
		v.mu.Lock()
		if len(v.waiting) == 0 {
			v.waiting = nil
			v.mu.Unlock()
			return
		}
		goes, err := decide(&v.waiting[0])
		if !goes {
			v.mu.Unlock()
			return
		}
		c, growth := v.waiting[0].call, v.waiting[0].growth
		v.waiting = v.waiting[1:]
		v.waitingBytes.Add(-int64(len(c.bundle)))
		v.number.Store(int64(len(v.waiting)))
		v.mu.Unlock()
		if err != nil {
			c.finish(Result{Err: err})
		} else {
			c.grow(growth)
			v.shard.throttle.pass(c)
		}
	}
}
