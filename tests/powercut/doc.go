// Package powercut shows that data that the stores of a Raft group have acknowledged survives a
// power failure, and that the stores are correct when they open after one.
//
// # How
//
// A worker, which is this test binary started again, opens the stores as lockstepd does
// (raftio.OpenStores: the log in bbolt or raft-wal, term and vote, snapshots) and does at random
// what Raft does to them: appends, conflicting entries that are deleted and written again in a new
// term, terms and votes, snapshots and trimming in parallel with appends, a snapshot from a leader
// far ahead, closing and opening. It reports each operation when it begins and when it was
// acknowledged, by writing a line to /dev/null. It runs under strace, which shows those lines in
// their place among the system calls that change files or make them durable. Some workers kill
// themselves; the next one opens the folder with nothing synced in between.
//
// From the trace the test rebuilds the folder in memory as it was after any call, in two parts: the
// safe data, and the data that was only written. At the end of each trace the model must be equal
// to the real folder, byte by byte. A power cut is a place in the trace and a random choice, from a
// seed, of the unsynced changes that reach the disk. The test writes the folder that is left, opens
// it with the real stores, and reads it. Every acknowledged entry must be there under its index
// with every byte correct, and after these entries at most a first part of the operations under
// way. The same holds for term, vote and newest snapshot. The stores must also continue to work.
// Some of those folders are the start of the next generation, so that power cuts follow earlier
// ones.
//
// # What the disk does in the model
//
//   - A file keeps the data that an fsync or fdatasync covered: the writes that had returned
//     when it was called, and the length.
//   - Of later writes any subset of 512-byte sectors reaches the disk, in any
//     order. A sector is old or new, never mixed. The length may or may not reach
//     the disk. Bytes that were never written are zero.
//   - If fsync or fdatasync of a file fails, the covered data never reaches the disk unless
//     it is written again, but processes still see it. The worker ends then.
//   - Changes of names (files, folders, renames, removals) reach the disk in their order,
//     up to any point, and at least up to the last fsync of a folder. An fsync of
//     a file does not keep its name, though on most file systems it would.
//
// # What it does not do
//
// Sectors that are torn within, or that become corrupt later: entries have checksums, and other
// tests damage them. File systems that show the earlier contents of blocks, or that reorder changes
// of names. Disks that lie about fsync; a test here makes sure that such a disk is noticed.
// Clusters: that a quorum of undamaged nodes has lost nothing is a property of Raft, and package
// linear tests it.
//
// Calls that the model does not know, including writes through a mapping, fail the test. Without
// strace the tests are skipped.
package powercut
