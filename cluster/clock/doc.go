// Package clock says what time it is, without trust in any single clock.
//
// Each shard's log has a time of its own, the log time: the shard's leader stamps every entry with it. Times to live
// are measured in log time, so log time must run as fast as real time. It never jumps while a process watches it, and
// never runs backwards. The monotonic clock of the leader drives it (Log).
//
// The time of day is the log time by the calendar: the log time plus an offset that is part of the log. If the log time
// and the wall clocks differ a little, the leader corrects the log time slowly. If they differ more, it proposes
// another offset; no time to live changes by that.
//
// A majority of the voters decides the time of day. Nodes ask each other what their wall clocks show (Exchange) and
// keep the answers as intervals (Reading). Two times follow from them (Majority): a majority says that it is at least
// the first, and a majority says that it is at most the second. Between the two nothing is corrected. So a minority of
// wrong clocks moves nothing; nor do uncertain readings, nor a disagreement without a majority.
//
// Monotonic clocks say nothing across a restart. If all processes of a group have ended, its next leader begins at the
// time of the last stamp, or at the time that a majority says if that is later.
//
// Reading, Majority and Log are pure: the caller gives them all times. Times are in microseconds, since 1970 or on this
// node's monotonic clock.
package clock
