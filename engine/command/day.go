package command

// There are two times. The log time is the one in which times are stored (expiries, deliveries of a
// stream's entries). The time of day is the one that clients mean. The log time runs on evenly,
// however clocks are set. Times.DayOffsetMs converts it to the time of day, and may change from txn
// to txn.

// Times is the time of a command.
type Times struct {
	// NowMs is the log time: the entry's stamp, or for a read the stamp of the last entry that was
	// applied when the read took its place. Keys with an expiry up to NowMs have expired.
	NowMs int64
	// DayOffsetMs is added to the log time to get the time of day.
	DayOffsetMs int64
	// LeaderMs is the leader's clock during a read on the leader, otherwise 0.
	LeaderMs int64
	// ReplicaMs is this replica's own clock during a read that accepts the replica's state,
	// otherwise 0.
	ReplicaMs int64
	// Due is set if a read met a key that is due by LeaderMs, but not yet by NowMs. The reply must
	// wait for an entry that moves the log time on.
	Due bool
}

// DayOffsetMsMax bounds the offset between the two, in both directions: some 3,000 years. Stored
// times stay far within the range of their encodings.
const DayOffsetMsMax = 100_000_000_000_000

// ClockMs is the time for replies about how long ago or how soon something is. The log time stands
// still while nothing is written; only the log time decides whether something has expired.
func (t *Times) ClockMs() int64 { return max(t.NowMs, t.LeaderMs, t.ReplicaMs) }

// DayMs is the time of day.
func (t *Times) DayMs() int64 { return t.ToDay(t.NowMs) }

// ToDay converts a log time to a time of day. A result that is too large becomes the largest
// number.
func (t *Times) ToDay(ms int64) int64 { return addMs(ms, t.DayOffsetMs) }

// FromDay converts a time of day to a log time. A time before the log's beginning has passed, so it
// becomes 1: 0 would mean no time at all.
func (t *Times) FromDay(ms int64) int64 {
	if at := addMs(ms, -t.DayOffsetMs); at > 0 || ms <= 0 {
		return at
	}
	return 1
}

// addMs adds an offset to a time. A sum that overflows becomes the nearest number.
func addMs(ms, offsetMs int64) int64 {
	const most = 1<<63 - 1
	switch {
	case offsetMs > 0 && ms > most-offsetMs:
		return most
	case offsetMs < 0 && ms < -most-offsetMs:
		return -most
	}
	return ms + offsetMs
}

// LeftMs is the time that is left until atMs.
func (t *Times) LeftMs(atMs int64) int64 { return max(atMs-t.ClockMs(), 0) }
