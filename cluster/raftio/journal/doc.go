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
//   - An append is acknowledged after the store below has accepted it, in the
//     order of the journal: later records of a group come after earlier ones.
//   - An entry of index i replaces all entries of its group from i on.
//   - One caller at a time writes records: the caller that holds the pen. It
//     writes for all callers that wait, and then passes the pen on. So a single
//     group needs no goroutine but its own. The holder waits a moment for groups
//     that write all the time, so that they are written together (gather.go).
//   - The front of the journal can be cut off only as far as no group has an
//     entry there. A group that rarely writes would keep the front, so once the
//     journal is more than twice as long as its entries, the entries at the front
//     are written again at the end (compact.go).
//   - The effect of DeleteRange is on disk, as a record, when it returns.
//
// A bucket per group in one bbolt file was rejected: raft-boltdb cannot do that, and raft-wal is
// twice as fast. A sync shared by several files is not possible: a sync is for one file.
package journal
