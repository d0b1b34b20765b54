package clock

// These constants say how the log time is corrected when it is close to the time of day.
const (
	// While the log time is behind, it gains 1/fasterBy of the time that passes. The part is small,
	// because times to live end early by it. It is more than clocks drift (0.05 %), so it makes up
	// for a leader with a slow monotonic clock.
	fasterBy = 256
	// While the log time is ahead, it loses 1/slowerBy of the time that passes; times to live last
	// longer by it.
	slowerBy = 8
	// sureAfterUs is how long a majority must contradict the time of day before a new offset is
	// proposed.
	sureAfterUs = 2_000_000
)

// Log is the log time of one replica. A leader stamps entries with it. Only one goroutine at a time
// may use it.
type Log struct {
	// begun is true once this process knows the log time.
	begun bool
	// runUs is the log time at the moment atUs. From then on it should gain gainUs, or lose that if
	// it is negative.
	runUs, atUs, gainUs int64
	// awaySinceUs is when a majority began to contradict the time of day by more than the limit. It
	// is 0 if it does not.
	awaySinceUs int64
}

// Begun reports whether this process knows the log time.
func (l *Log) Begun() bool { return l.begun }

// At returns the log time at a moment of the monotonic clock.
func (l *Log) At(monoUs int64) int64 {
	passed := max(minus(monoUs, l.atUs), 0)
	return plus(plus(l.runUs, passed), l.made(passed))
}

// made is what was gained, or lost if negative, while some time passed.
func (l *Log) made(passed int64) int64 {
	if l.gainUs < 0 {
		return -min(-l.gainUs, passed/slowerBy)
	}
	return min(l.gainUs, passed/fasterBy)
}

// set makes runUs the log time at a moment. A goroutine that was held up may bring a moment before
// the last one; it counts as the last one, else the time between the two would pass twice.
func (l *Log) set(monoUs, runUs int64) {
	monoUs = max(monoUs, l.atUs)
	l.gainUs -= l.made(minus(monoUs, l.atUs))
	l.atUs, l.runUs = monoUs, runUs
}

// Raise makes the log time no earlier than a stamp in the log.
func (l *Log) Raise(monoUs, stampUs int64) {
	if l.At(monoUs) < stampUs {
		l.set(monoUs, stampUs)
	}
}

// Hear takes over the log time that the group's leader reported. At the moment monoUs the log time
// is at least runUs and at most unsureUs later, because the answer took some time. If this replica
// becomes the leader, the log time continues from there, however old the last stamp is.
func (l *Log) Hear(monoUs, runUs, unsureUs int64) {
	if l.begun {
		runUs = min(max(l.At(monoUs), runUs), plus(runUs, unsureUs))
	}
	*l = Log{begun: true, atUs: monoUs, runUs: runUs}
}

// Begin begins the log time of a leader whose process has not known it. It begins at the last
// stamp, or at the time of day if that is later: then the group had no leader meanwhile. The log
// time plus offsetUs is the time of day. Begin returns false until a majority has reported the
// time. With alone it uses this node's clock if no majority reports the time and no entry was
// stamped.
func (l *Log) Begin(now *Now, offsetUs, stampUs int64, alone bool) bool {
	if l.begun || !now.Known() && !alone {
		return l.begun
	}
	runUs := stampUs
	switch {
	case now.Known():
		runUs = max(runUs, minus(now.first(), offsetUs))
	case stampUs == 0:
		runUs = minus(now.OwnUs, offsetUs)
	}
	*l = Log{begun: true, atUs: now.MonoUs, runUs: runUs}
	return true
}

// narrowUs is how close together the bounds must be for this node's own clock, between them, to be
// more exact. The time that questions take widens the bounds.
const narrowUs = 500_000

// confirms reports whether a majority confirms what this node's own clock shows.
func (n *Now) confirms() bool {
	return n.Known() && minus(n.MostUs, n.LeastUs) <= narrowUs && Away(n.OwnUs, n.LeastUs, n.MostUs) == 0
}

// first is the time of day to begin with: the earliest possible, because a time that is too late
// deletes keys.
func (n *Now) first() int64 {
	if n.confirms() {
		return n.OwnUs
	}
	return n.LeastUs
}

// away is how far a time of day is ahead of what it should be.
func (n *Now) away(dayUs int64) int64 {
	if n.confirms() {
		return minus(dayUs, n.OwnUs)
	}
	return Away(dayUs, n.LeastUs, n.MostUs)
}

// Away is how far the time of day, the log time plus offsetUs, is ahead of what a majority says;
// negative means behind.
func (l *Log) Away(now *Now, offsetUs int64) int64 { return now.away(plus(l.At(now.MonoUs), offsetUs)) }

// Follow compares the leader's time of day with what a majority says. If they differ by at most
// limitUs, the log time runs a little faster or slower from now on. If they have differed by more
// for a while, Follow returns the offset to propose.
func (l *Log) Follow(now *Now, offsetUs, limitUs int64) (setUs int64, set bool) {
	l.set(now.MonoUs, l.At(now.MonoUs))
	away := l.Away(now, offsetUs)
	if -limitUs <= away && away <= limitUs {
		l.gainUs, l.awaySinceUs = -away, 0
		return 0, false
	}
	l.gainUs = 0
	if l.awaySinceUs == 0 {
		l.awaySinceUs = max(now.MonoUs, 1)
	}
	return minus(offsetUs, away), minus(now.MonoUs, l.awaySinceUs) >= sureAfterUs
}
