// Package proc starts real processes for the black-box tests: lockstepd, alone
// or as a cluster, and redis-server, the oracle.
//
// Everything hangs on the test that asked for it: a process is killed when its
// test ends, its folder is removed if the test passed and named if it failed,
// together with the end of the process's log. lockstepd is built once per test
// binary, from the tree under test; LOCKSTEP_BINARY names a ready one instead,
// LOCKSTEP_RACE=1 builds with the race detector, and LOCKSTEP_LOG_STORE and
// LOCKSTEP_SHARDS choose what clusters are made of where a test does not. Tests that
// are skipped say so in the file that LOCKSTEP_SKIPPED names.
//
// Nothing here sleeps. Every wait is a condition that is asked again and again
// until a deadline, and a wait that fails says what it waited for.
package proc
