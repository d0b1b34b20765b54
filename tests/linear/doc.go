// Package linear kills, pauses and crowds a cluster of real processes, and changes its members
// meanwhile, while clients use it. Afterwards it checks that every reply was correct.
//
// The actions of a client are a history: each command with the instants between which it must have
// taken effect, and its reply. Checkers read the history:
//
//   - registers: GET, SET, SETNX, GETSET, DEL and a script that compares and sets
//     one key must be linearizable (porcupine). Written values are unique, so a
//     stale read, a lost or a doubled write has no place in any order.
//   - counters: each acknowledged INCR, and each transaction that increments the counter
//     that it watched, has a result of its own. Results grow in the order of time. The final
//     value is at least the number of acknowledged increments, and at most that number
//     plus the number of unknown ones.
//   - pairs: two counters that a transaction increments are never seen with different values.
//   - quotas: counters that a script increments up to a limit. No client gets a number
//     after another client was refused.
//   - lists: each pushed element is popped once, by blocking pops, in the order of
//     the pushes.
//   - transits: elements are pushed to one list and moved to another by blocking moves. At
//     the end each is in one of the two lists, once.
//   - streams: each added entry is there once, in the order of time. A group of consumers
//     gets each entry once, and the entry is pending until it is acknowledged, once.
//   - briefs: keys with a short time to live expire in time, and do not come back.
//   - spares: evicted keys do not come back.
//
// TestNemesis does everything at once, at random: nodes are killed, stopped and paused, one or all;
// traffic between nodes is held (wires.go), in one direction or both; leaders move; snapshots are
// written and loaded; replicas move; keys are evicted; disks are full; clocks go wrong; programs
// are replaced by newer ones; and a node that lost its folder comes back as another node, with the
// other log store. Long commands go over slow connections, strangers crowd the peer port, and
// scripts run up to their limits and in bursts. -nemesis says for how long. In this test clients
// may be told that a command was refused, or that its outcome is unknown. Meanwhile each shard must
// answer: no silence may last longer than 10 s while enough nodes run and reach each other
// (answers.go).
//
// An outcome is done, unknown, or refused. A command with an unknown outcome may take effect at any
// later time, or never. A refused command must never have an effect. Clients of a node that was not
// killed must not see an error at all: for them a fault is a pause.
//
// To keep the search small, registers live for a few seconds and are then replaced by others. A
// history that fails is kept in a folder, with porcupine's picture of it. The checkers themselves
// are tested with histories that have planted faults.
//
// Each test has a short form; LOCKSTEP_LONG=1 runs for minutes. All random choices come from a seed
// that is printed; LOCKSTEP_SEED repeats them.
package linear
