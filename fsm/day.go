package fsm

import (
	"strconv"

	"lockstep/engine/command"
)

// SetDay is the txn that sets by how much the time of day is ahead of the log time. From its place in the log on
// clients' times of day mean other log times. The log time itself, and what is left of each key's time to live, are
// as before: nothing is deleted, and nothing comes back.
func SetDay(offsetMs int64) Txn {
	return Txn{Kind: KindDay, Ops: []Op{{Args: [][]byte{[]byte("lockstep.day"), strconv.AppendInt(nil, offsetMs, 10)}}}}
}

// setDay carries out a SetDay at its place in the log. An offset out of bounds changes nothing.
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

// DayOffsetMs is by how much the time of day is ahead of the log time.
func (m *Machine) DayOffsetMs() int64 { return m.dayOffsetMs.Load() }

// DayMs is the time of day of the last entry whose tickets were taken, in Unix milliseconds.
func (m *Machine) DayMs() int64 { return m.StampMs() + m.DayOffsetMs() }
