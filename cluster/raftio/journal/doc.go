// Package journal lets the Raft groups of a node share one log on disk, and with it the sync: the
// entries that many groups append at the same time are one write.
//
// A disk syncs one file at a time, and a sync costs about the same for one entry as for a hundred.
// With a log per group a node of sixteen shards syncs sixteen files one after the other, and each
// group waits for the others: sixteen groups on one disk had a quarter of the throughput of one.
//
// Journal works on any raft.LogStore and returns a Log for each group, which is again a
// raft.LogStore. A record of the store below is one entry of one group, or says that entries of a
// group are gone. A record of an entry has the entry's Data, Term and Type; the group and the index
// come before its Extensions. The place of each entry is kept in memory, and is found again by
// reading the journal from its beginning to its end (replay.go).
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
// A bucket per group in one bbolt file was rejected: raft-boltdb cannot do that, and raft-wal is
// twice as fast. A sync shared by several files is not possible: a sync is for one file.
package journal
