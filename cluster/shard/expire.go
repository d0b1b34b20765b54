package shard

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"lockstep/cluster/stepper"
	"lockstep/engine"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

const (
	// expireEvery is the longest time between two searches of the leader for due keys.
	expireEvery = 100 * time.Millisecond
	// expireKeysMax and expireBytesMax bound one entry: the keys it deletes, and
	// their names.
	expireKeysMax  = 512
	expireBytesMax = 256 << 10
)

// expirer deletes keys that are due, while this node leads. No result depends on it:
// whether a key has expired follows from the log's time. The expirer moves that time on and
// frees the memory.
type expirer struct {
	shard *Shard
	*stepper.Stepper
	// off stops the leader from looking for due keys (DEBUG SET-ACTIVE-EXPIRE).
	off atomic.Bool
}

func (x *expirer) init(s *Shard) {
	x.shard = s
	x.Stepper = stepper.New()
}

// SetActiveExpire turns the leader's search for due keys on or off.
func (s *Shard) SetActiveExpire(on bool) { s.expirer.off.Store(!on) }

func (x *expirer) loop() {
	s := x.shard
	x.Run(s.ctx, func(context.Context) time.Duration {
		switch {
		case !s.Leads():
			return idleEvery
		case x.off.Load():
			return expireEvery
		}
		x.deleteDue()
		ks, nowMs := s.machine.Keyspace(), s.clock.nowMs()
		next, _ := ks.NextExpiryMs()
		pause := untilDue(next, nowMs)
		// A key that is due earlier than those that were seen ends the pause.
		ks.WakeBefore(min(next, nowMs+pause.Milliseconds()), x.Kick)
		return pause
	})
}

// untilDue is how long to wait for a key that is due at dueMs, which may be a million
// years away.
func untilDue(dueMs, nowMs int64) time.Duration {
	return time.Duration(min(max(dueMs-nowMs, 1), expireEvery.Milliseconds())) * time.Millisecond
}

func (x *expirer) deleteDue() {
	s := x.shard
	due := x.collectDue(s.clock.nowMs())
	if len(due) == 0 {
		return
	}
	op := fsm.Op{Args: make([][]byte, 0, 1+2*len(due))}
	op.Args = append(op.Args, []byte("lockstep.expire"))
	for _, d := range due {
		op.Args = append(op.Args, strconv.AppendInt(nil, int64(d.DB), 10), []byte(d.Key))
	}
	// An error means that this node lost the lead or that the shard is busy. The loop
	// finds the keys again.
	began := time.Now()
	_ = s.proposer.own(s.ctx, fsm.Txn{Kind: fsm.KindExpire, Ops: []fsm.Op{op}})
	s.cfg.Group.took(Expire, began)
}

func (x *expirer) collectDue(nowMs int64) []engine.Due {
	s := x.shard
	var due []engine.Due
	ks, locks := s.machine.Keyspace(), s.machine.Sched()
	var ticket sched.Ticket
	var access sched.Access
	for slot := range int32(ks.LockSlots()) {
		if at := ks.SlotDueMs(slot); at == 0 || at > nowMs {
			continue
		}
		access.Reset()
		access.Add(slot, sched.Shared)
		if locks.Lock(s.ctx, &ticket, &access) != nil {
			return due
		}
		due = ks.AppendDue(due, slot, nowMs, expireKeysMax-len(due))
		locks.Unlock(&ticket)
		n := withinBytes(due)
		if n < len(due) || n >= expireKeysMax {
			return due[:n]
		}
	}
	return due
}

// withinBytes is how many of the keys fit in one entry, but at least one.
func withinBytes(due []engine.Due) int {
	bytes := 0
	for i, d := range due {
		if bytes += len(d.Key); bytes > expireBytesMax && i > 0 {
			return i
		}
	}
	return len(due)
}
