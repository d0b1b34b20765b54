// Package backlog lets clients send far more work than a shard can do, and checks what the
// documents promise. The log never holds more than a few seconds of work of one core that has not
// run, also after nodes start again. Further commands wait before the log, and in the end get an
// error that says that they did not run. The errors of clients that wait behind that work say what
// runs.
//
// The nodes count work in milliseconds of one core (INFO raft, work_ms), and do not time it:
// the machine that runs the tests may be busy.
package backlog
