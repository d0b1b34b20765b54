// Package clock tells the time without trusting any single clock.
//
// Each shard's log has a time of its own, the log time: the shard's leader stamps every entry with
// it. Times to live are measured in log time, so log time must run as fast as real time. It never
// jumps while a process runs, and never runs backwards. The leader's monotonic clock drives it
// (Log).
//
// The time of day is the log time plus an offset that is part of the log. If the time of day and
// the wall clocks differ a little, the leader corrects the log time slowly. If they differ more, it
// proposes another offset, which changes no time to live.
//
// A majority of the voters decides the time of day. Nodes ask each other what their wall clocks
// show (Exchange) and keep the answers as intervals (Reading). Two times follow from them
// (Majority): a majority says that it is at least the first, and a majority says that it is at most
// the second. Between the two nothing is corrected. So a minority of wrong clocks changes nothing;
// nor do uncertain readings, nor a disagreement without a majority.
//
// Monotonic clocks say nothing across a restart. If all processes of a group have ended, its next
// leader begins at the time of the last stamp, or at the time that a majority reports if that is
// later.
//
// Reading, Majority and Log are pure: the caller passes all times. Times are in microseconds, since
// 1970 or on this node's monotonic clock.
package clock
