package clock

// How the log time is led back to the time of day where they are close.
const (
	// fasterBy is the part of the time that passes which is gained where the log time is behind. It is small: times
	// to live end early by it. It is more than clocks drift (0.05 %), so that a leader whose monotonic clock is slow
	// is made up for.
	fasterBy = 256
	// slowerBy is the part that is lost where the log time is ahead: times to live last longer by it.
	slowerBy = 8
	// sureAfterUs is for how long the time of day must have been away from what a majority says until it is set.
	sureAfterUs = 2_000_000
)

// Log is the log time of one replica. Where the replica leads, it is what entries are stamped with. It is not safe
// for use by several goroutines.
type Log struct {
	// begun is false until this process knows the log time.
	begun bool
	// runUs is the log time at the moment atUs. From there on gainUs is to be made up for, or, if it is negative,
	// to be lost.
	runUs, atUs, gainUs int64
	// awaySinceUs is since when a majority has spoken against the time of day by more than the limit; 0: it does not.
	awaySinceUs int64
}

// Begun reports whether this process knows the log time.
func (l *Log) Begun() bool { return l.begun }

// At is the log time at a moment of the monotonic clock.
func (l *Log) At(monoUs int64) int64 {
	passed := max(minus(monoUs, l.atUs), 0)
	return plus(plus(l.runUs, passed), l.made(passed))
}

// made is what was made up for, or lost, while some time passed.
func (l *Log) made(passed int64) int64 {
	if l.gainUs < 0 {
		return -min(-l.gainUs, passed/slowerBy)
	}
	return min(l.gainUs, passed/fasterBy)
}

// set makes runUs the log time at a moment. A moment before the last one, which a goroutine that was held up may
// bring, counts as the last one: else the time between the two would pass twice.
func (l *Log) set(monoUs, runUs int64) {
	monoUs = max(monoUs, l.atUs)
	l.gainUs -= l.made(minus(monoUs, l.atUs))
	l.atUs, l.runUs = monoUs, runUs
}

// Raise sees to it that the log time is not before a stamp in the log.
func (l *Log) Raise(monoUs, stampUs int64) {
	if l.At(monoUs) < stampUs {
		l.set(monoUs, stampUs)
	}
}

// Hear takes over the log time that the group's leader told. At the moment monoUs it is runUs at least, and unsureUs
// later at most, for the answer was on its way. If this replica is to lead, the log time goes on from there: it makes
// no difference how long ago the last entry was stamped.
func (l *Log) Hear(monoUs, runUs, unsureUs int64) {
	if l.begun {
		runUs = min(max(l.At(monoUs), runUs), plus(runUs, unsureUs))
	}
	*l = Log{begun: true, atUs: monoUs, runUs: runUs}
}

// Begin begins the log time of a leader whose process has not known it: from the last stamp, or from the time of day
// if that is later, for then the group has not been led meanwhile. offsetUs leads from the log time to the time of
// day. It waits, and returns false, until a majority has said what the time is; with alone it goes by this node's
// clock where nobody says anything and nothing was stamped.
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

// narrowUs is how close together the bounds must be for this node's own clock, between them, to be the more exact
// word: they are apart by what questions take, too.
const narrowUs = 500_000

// confirms reports whether a majority confirms what this node's own clock shows.
func (n *Now) confirms() bool {
	return n.Known() && minus(n.MostUs, n.LeastUs) <= narrowUs && Away(n.OwnUs, n.LeastUs, n.MostUs) == 0
}

// first is the time of day to begin with: the earliest that may be, for a time that is too late deletes keys.
func (n *Now) first() int64 {
	if n.confirms() {
		return n.OwnUs
	}
	return n.LeastUs
}

// away is how far a time of day is from what it should be.
func (n *Now) away(dayUs int64) int64 {
	if n.confirms() {
		return minus(dayUs, n.OwnUs)
	}
	return Away(dayUs, n.LeastUs, n.MostUs)
}

// Away is how far the time of day, which is offsetUs from the log time, is ahead of what a majority says; negative:
// behind.
func (l *Log) Away(now *Now, offsetUs int64) int64 { return now.away(plus(l.At(now.MonoUs), offsetUs)) }

// Follow compares the time of day with what a majority says, where this replica leads. If they are no further apart
// than limitUs, the log time runs a little faster or slower from now on. If they are, and have been for a while, it
// returns the offset that is to be put into the log.
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
