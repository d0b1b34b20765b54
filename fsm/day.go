package fsm

import (
	"strconv"

	"lockstep/engine/command"
)

// SetDay is the txn that sets how far the time of day is ahead of the log time. From its position in the log on,
// clients' times of day are converted to log times with the new offset. The log time itself and each key's remaining
// time to live stay the same: no key is deleted, and none comes back.
func SetDay(offsetMs int64) Txn {
	return Txn{Kind: KindDay, Ops: []Op{{Args: [][]byte{[]byte("lockstep.day"), strconv.AppendInt(nil, offsetMs, 10)}}}}
}

// setDay carries out a SetDay at its position in the log. It ignores an offset that is out of
// bounds.
func (m *Machine) setDay(t *Txn) {
	if t.Kind != KindDay {
		return
	}
	ms, err := strconv.ParseInt(string(t.Ops[0].Args[1]), 10, 64)
	if err == nil && dayPossible(ms) {
		m.dayOffsetMs.Store(ms)
	}
}

func dayPossible(offsetMs int64) bool {
	return -command.DayOffsetMsMax <= offsetMs && offsetMs <= command.DayOffsetMsMax
}

// DayOffsetMs is how far the time of day is ahead of the log time.
func (m *Machine) DayOffsetMs() int64 { return m.dayOffsetMs.Load() }

// DayMs is the time of day of the last entry whose tickets were taken, in Unix milliseconds.
func (m *Machine) DayMs() int64 { return m.StampMs() + m.DayOffsetMs() }
