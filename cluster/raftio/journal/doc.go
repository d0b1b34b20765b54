// Package journal lets the Raft groups of a node share one log on disk, and
// with it the sync: what many groups append at one time is one write.
//
// A disk syncs one file at a time, and each sync costs about the same, whether
// it is for one entry or for a hundred. With a log per group a node of sixteen
// shards syncs sixteen files in turn, for which each group waits; sixteen groups
// on one disk had a quarter of the throughput of one.
//
// Journal stands on any raft.LogStore and hands out a Log for each group, which
// is a raft.LogStore again. A record of the store below is one entry of one
// group (Data, Term and Type as they are; which group's and which index, in
// front of its Extensions), or says that entries of a group are gone. Where each
// entry is, is kept in memory and found again by reading the journal from its
// beginning to its end (replay.go).
//
// Invariants:
//   - An append is acknowledged after the store below has taken it, in the order
//     of the journal: what a group wrote later stands behind.
//   - An entry of index i takes the place of whatever its group had from i on.
//   - Records are written by one caller at a time, who holds the pen; it writes
//     for all that wait, and hands the pen on. So a group that is alone pays for
//     no goroutine but its own. Groups that write all the time are waited for a
//     moment, so that they leave together (cluster/batching).
//   - The front of the journal can be cut off only where no group has an entry
//     any more. A group that hardly writes would keep it standing, so its entries
//     are written again at the end once the journal is more than twice as long
//     as what is in it (compact.go).
//   - What DeleteRange did is on disk when it returns, as a record.
//
// Why not one bucket per group in one bbolt file: raft-boltdb has no such thing,
// and raft-wal is twice as fast. Why not a sync shared among files: a sync is of
// one file.
package journal
