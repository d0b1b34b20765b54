package shard

import (
	"strconv"
	"time"

	"lockstep/engine"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

const (
	// expireEvery is the longest the leader goes without looking for due keys.
	expireEvery = 100 * time.Millisecond
	// expireKeysMax is how many keys one entry deletes.
	expireKeysMax = 512
)

// expireLoop deletes keys that are due, while this node leads. It decides
// nothing that matters: whether a key is gone follows from the log's time; this
// loop moves that time and frees the memory.
func (s *Shard) expireLoop() {
	for s.ctx.Err() == nil {
		pause(s.ctx, s.untilDue())
		if !s.Leads() || s.expireOff.Load() {
			continue
		}
		s.expireDue()
	}
}

// untilDue is how long the loop may sleep.
func (s *Shard) untilDue() time.Duration {
	if !s.Leads() {
		return expireEvery
	}
	next, slot := s.machine.Keyspace().NextExpiryMs()
	if slot < 0 {
		return expireEvery
	}
	return min(max(time.Duration(next-s.clock.nowMs())*time.Millisecond, time.Millisecond), expireEvery)
}

func (s *Shard) expireDue() {
	nowMs := s.clock.nowMs()
	due := s.collectDue(nowMs)
	if len(due) == 0 {
		return
	}
	op := fsm.Op{Args: make([][]byte, 0, 1+2*len(due))}
	op.Args = append(op.Args, []byte("lockstep.expire"))
	for _, d := range due {
		op.Args = append(op.Args, strconv.AppendInt(nil, int64(d.DB), 10), []byte(d.Key))
	}
	// A failure means that leadership was lost or that the shard is busy; the
	// keys are found again.
	_ = s.proposeOwn(s.ctx, fsm.Txn{Kind: fsm.KindExpire, Ops: []fsm.Op{op}})
}

func (s *Shard) collectDue(nowMs int64) []engine.Due {
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
		if len(due) >= expireKeysMax {
			break
		}
	}
	return due
}
