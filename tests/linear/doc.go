// Package linear kills, pauses and crowds a cluster of real processes, and
// changes its members meanwhile, while clients use it, and checks afterwards that
// every reply was right.
//
// What a client did is a history: each command with the instants between which
// it must have taken effect, and what was answered. Checkers read it:
//
//   - registers: GET, SET, SETNX, GETSET, DEL and a script that compares and sets
//     one key must be linearizable (porcupine). Written values are unique, so a
//     stale read, a lost or a doubled write has no place in any order.
//   - counters: each acknowledged INCR, and each transaction that set the counter
//     it watched one higher, has its own result, results grow in the order of time,
//     and the counter ends between what was acknowledged and that plus what is unknown.
//   - pairs: two counters that a transaction increments are never seen apart.
//   - quotas: counters that a script lets grow up to a limit: nobody is given one
//     after another was refused.
//   - lists: what is pushed is given out once, by pops that wait, in the order of
//     the pushes.
//   - transits: what is pushed to one list and moved to another, by moves that wait,
//     is in one of them at the end, once.
//   - streams: what is added is there once, in the order of time; a group of consumers
//     is given each entry once, and it is pending until it is acknowledged, once.
//   - briefs: keys that live for a moment go in time, and do not come back.
//   - spares: what was evicted does not come back.
//
// TestNemesis does everything at once, drawn by chance: nodes are killed, stopped and
// paused, one or all, what they send each other is held (wires.go), in one direction or
// both, leaders move, snapshots are written and loaded, replicas move, keys are evicted,
// disks are full, programs are exchanged for newer ones, and a node that lost its folder
// comes back as another one, with the other log store; long commands go over narrow ways,
// strangers crowd the peer port, and scripts run up to their limits and in bursts; -nemesis
// says for how long. There clients may be told that nothing was done, or that nobody knows.
// Meanwhile each shard must answer: no silence may last longer than 10 s while enough nodes
// run and reach each other (answers.go). Clocks that jump are left to package shard: a
// machine's clock cannot be set for one process.
//
// An outcome is known, unknown, or known not to have happened. Unknown commands
// may take effect at any later time, or never; commands that were refused must
// never be seen. Clients of a node that was not killed must not see an error at
// all: for them a fault is a pause.
//
// So that the search stays small, registers live for a few seconds and then
// others take their place. A history that fails is kept in a folder, with
// porcupine's picture of it. The checkers themselves are tested with histories
// that have planted faults.
//
// Each test has a short form; LOCKSTEP_LONG=1 runs for minutes. What is drawn by
// chance is drawn from a seed that is printed; LOCKSTEP_SEED gives it again.
package linear
