// Package clock says what time it is, where no single clock is to be trusted.
//
// Each shard's log has a time of its own, the log time: its leader stamps every entry with it. Times to live are
// counted by it, so it must run as real time runs: it never jumps while a process watches it, and it never runs
// backwards. It goes on by the monotonic clock of whoever leads (Log).
//
// What the log time is called, by the calendar, is another matter: the time of day. It is the log time plus an
// offset that stands in the log. Where the log time and the wall clocks part, the log time is led back to them
// slowly as long as they are close; else the leader proposes another offset, and no time to live changes by it.
//
// The time of day is what a majority of the voters say. Nodes ask each other what their wall clocks show (Exchange)
// and keep the answers as intervals (Reading). From them follow two times (Majority): a majority says that it is at
// least the one, and a majority says that it is at most the other. Between the two nothing is corrected. So a minority
// of wrong clocks moves nothing, nor do readings that are uncertain, nor a disagreement that no majority decides.
//
// Monotonic clocks say nothing across a restart. The first leader of a group after all its processes have ended
// begins at the time of its last stamp, or where a majority says that it is later, there.
//
// Reading, Majority and Log are pure: they are given all times. Times are in microseconds, since 1970 or on this
// node's monotonic clock.
package clock
