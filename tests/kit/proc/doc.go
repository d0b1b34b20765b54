// Package proc starts real processes for the black-box tests: lockstepd, alone or as a cluster, and
// redis-server, the oracle.
//
// Everything belongs to the test that asked for it. When the test ends, its processes are killed.
// Its folders are removed if it passed. If it failed, the test output names them, with the end of
// each process's log. lockstepd is built once per test binary, from the tree under test.
// LOCKSTEP_BINARY names a ready binary instead, LOCKSTEP_RACE=1 builds with the race detector, and
// LOCKSTEP_LOG_STORE and LOCKSTEP_SHARDS set the defaults of clusters. Skipped tests are listed in
// the file that LOCKSTEP_SKIPPED names.
//
// Nothing here sleeps. Every wait polls a condition until a deadline, and a wait that fails names
// the condition.
package proc
