// Package backlog lets clients send far more work than a shard can do, and wants what the
// documents promise: what stands in the log and has not run takes a few seconds of one core at
// most, also when nodes start again; what is beyond waits before the log and is answered that it
// did not run; and those who wait behind it are told what runs.
//
// Work is counted by the nodes, in milliseconds of one core (INFO raft, work_ms), and not timed:
// the machine that runs the tests may be busy.
package backlog
