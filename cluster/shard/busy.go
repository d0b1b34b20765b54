package shard

import (
	"errors"
	"strings"
	"time"

	"lockstep/cluster"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// readError is the error that the gateway gets for a read that did not run.
func (r *reads) readError(err error) error {
	var waited *sched.WaitError
	switch {
	case errors.Is(err, fsm.ErrLogged):
		return cluster.ErrMustLog
	case !errors.As(err, &waited):
		return err
	}
	busy := busyWith(&r.shard.cfg.Group, waited.By)
	busy.Waited = time.Duration(waited.WaitedNs)
	return busy
}

// InTheWay is what holds up a command that has keys in these hash slots, or, without any
// slots, a command that locks everything. It returns nil if nothing holds it up now.
func (s *Shard) InTheWay(hashSlots []uint16) *cluster.BusyError {
	access := sched.Access{Global: len(hashSlots) == 0}
	ks := s.machine.Keyspace()
	for _, slot := range hashSlots {
		access.Add(ks.LockSlotOfHash(slot), sched.Exclusive)
	}
	h := s.machine.Sched().InTheWay(&access)
	if h == (sched.Holder{}) {
		return nil
	}
	return busyWith(&s.cfg.Group, h)
}

// Longest is the command that has run longest in this replica, of those that hold locks
// and whose start is known. It returns nil if there is none.
func (s *Shard) Longest() *cluster.BusyError {
	h := s.machine.Sched().Longest()
	if h == (sched.Holder{}) {
		return nil
	}
	return busyWith(&s.cfg.Group, h)
}

func busyWith(replica *GroupConfig, h sched.Holder) *cluster.BusyError {
	return &cluster.BusyError{Shard: replica.ID, Node: string(replica.LocalID), What: described(h), Ran: time.Duration(h.RanNs)}
}

// described names a holder of locks, in words.
func described(h sched.Holder) string {
	switch {
	case h.Label == "":
		return "another command"
	case h.Detail == "":
		return "command " + h.Label
	case strings.HasPrefix(h.Label, "fcall"):
		return "function " + h.Detail
	}
	return "script " + h.Detail
}
