// Package backlog lets clients send far more work than a shard can do, and checks what the
// documents promise. The work in the log that has not run takes a few seconds of one core at
// most, also when nodes start again. Further work waits before the log and is answered that it
// did not run. Clients that wait behind it are told what runs.
//
// The nodes count work in milliseconds of one core (INFO raft, work_ms), and do not time it:
// the machine that runs the tests may be busy.
package backlog
