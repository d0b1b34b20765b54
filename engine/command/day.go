package command

// Two names for one moment: the log time, by which all is kept that has to do with time (expiries, when an entry of
// a stream was delivered), and the time of day, as clients mean it when they name a moment. The log time runs on
// evenly, however clocks are set; Times.DayOffsetMs leads from it to the time of day, and may change from txn to txn.

// Times is the time that a command knows.
type Times struct {
	// NowMs is the log time: the entry's stamp, or for a read the stamp of the last entry
	// applied when it took its place. Keys with an expiry up to here are gone.
	NowMs int64
	// DayOffsetMs is added to the log time to get the time of day.
	DayOffsetMs int64
	// LeaderMs is the leader's clock while a read runs there, else 0.
	LeaderMs int64
	// ReplicaMs is this replica's own clock while a read runs that is content with
	// what the replica has, else 0.
	ReplicaMs int64
	// Due is set when a read met a key that is due by LeaderMs, but not yet by
	// NowMs: its answer must wait for an entry that carries the time onwards.
	Due bool
}

// DayOffsetMsMax bounds the offset between the two, either way: some 3,000 years. Times that are kept stay far
// within what their encodings hold.
const DayOffsetMsMax = 100_000_000_000_000

// ClockMs is the time for answers that say how long ago or how soon something is.
// The log's time stands still while nothing is written; it alone says whether
// something is over.
func (t *Times) ClockMs() int64 { return max(t.NowMs, t.LeaderMs, t.ReplicaMs) }

// DayMs is the time of day.
func (t *Times) DayMs() int64 { return t.ToDay(t.NowMs) }

// ToDay is a log time as a time of day. One that is too late to be a number is the last that is.
func (t *Times) ToDay(ms int64) int64 { return addMs(ms, t.DayOffsetMs) }

// FromDay is a time of day as a log time. What lies before the log's beginning has passed, as 1 has: 0 would be no
// time at all.
func (t *Times) FromDay(ms int64) int64 {
	if at := addMs(ms, -t.DayOffsetMs); at > 0 || ms <= 0 {
		return at
	}
	return 1
}

// addMs adds an offset to a time; where the sum is no number, it is the nearest one.
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

// LeftMs is how long it is until a time.
func (t *Times) LeftMs(atMs int64) int64 { return max(atMs-t.ClockMs(), 0) }
