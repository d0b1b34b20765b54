// Package powercut shows that what the stores of a Raft group acknowledged
// survives a power failure, and that what comes up after one is right.
//
// # How
//
// A worker, this test binary started again, opens the stores as lockstepd does
// (raftio.OpenStores: the log in bbolt or raft-wal, term and vote, snapshots) and
// does at random what Raft does to them: appends, conflicts cut off and written
// again in a new term, terms and votes, snapshots and trimming beside appends, a
// snapshot from a leader far ahead, closing and opening. It reports each
// operation when it begins and when it was acknowledged, by writing a line to
// /dev/null. It runs under strace, which sees those lines in their place among
// the system calls that change files or make them durable. Some workers kill
// themselves; the next one opens the folder with nothing synced in between.
//
// From the trace the folder is made again in memory as it stood after any call,
// in two parts: what is safe, and what has only been written. At the end of each
// trace the model must be equal to the real folder, byte by byte. A power cut is
// a place in the trace and a choice, drawn with a seed, of what reaches the disk
// though nobody synced it. The folder that is left is written out, opened by the
// real stores in the test, and read: every acknowledged entry must be there under
// its index with every byte right, beyond them at most a first part of what was
// under way; likewise term, vote and newest snapshot; and the stores must go on.
// Some of those folders are the beginning of the next generation, so that cuts
// follow on cuts.
//
// # What the disk does in the model
//
//   - A file keeps what fsync or fdatasync of it covered: writes that had returned
//     when it was called, and the length.
//   - Of later writes any subset of 512-byte sectors reaches the disk, in any
//     order; a sector is old or new, never mixed; the length goes with or
//     without them. What was never written is zero.
//   - Where fsync or fdatasync of a file fails, what it covered is never on disk unless
//     it is written again; processes see it all the same. The worker ends then.
//   - Names (files, folders, renames, removals) reach the disk in the order in
//     which they were changed, up to any point, and at least up to the last fsync
//     of a folder. An fsync of a file does not keep its name, though on most file
//     systems it would.
//
// # What it does not do
//
// Sectors that are torn within, or that turn bad later: entries bear checksums,
// and other tests damage them. File systems that show what blocks held before, or
// that reorder changes of names. Disks that lie about fsync; a test here makes
// sure that such a disk is noticed. Clusters: that a quorum which lost nothing has
// lost nothing is Raft's matter, and package linear's.
//
// Calls that the model does not know, a file written through a mapping among
// them, fail the test. Without strace the tests are skipped.
package powercut
