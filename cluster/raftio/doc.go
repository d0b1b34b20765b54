// Package raftio stands between hashicorp/raft v1.7.3 and the disk and network
// below it. It wraps the library's stores and its transport. Every hole of the
// library that Lockstep knows of and that can be closed from outside is closed here.
// Each has its file, and a test that is named for the promise:
//
//   - stable.go: a vote is written in one piece, not term first and candidate
//     later (hashicorp/raft#661); term and vote have a checksum.
//   - proof.go, pipeline.go: proof of leadership counts from when a request was
//     sent, not from when its answer arrived (etcd-io/etcd#20418 is the same
//     class); heartbeats go through Raft's main loop (hashicorp/raft#695); a
//     request is for one node and reaches no other; one request carries a
//     bounded number of bytes; a pipeline does not wedge behind a failure
//     (hashicorp/raft#612).
//   - commit.go: a follower commits no further than it was compared with its leader.
//   - covered.go: if the log begins behind the newest snapshot, a leader's entries are
//     compared with that snapshot, too.
//   - installs.go: a follower that refuses a snapshot because it has its entries already is
//     sent the entries behind the snapshot, not the snapshot again and again.
//   - lease.go: a read lease that is sound across restarts, transfers, changes
//     of configuration and suspended machines.
//   - transfer.go: an order to lead (TimeoutNow) that comes late breaks no lease, and an
//     order without an answer does not keep a leader from accepting entries; a vote sticks
//     to the leader by the leader's id, not by its address.
//   - judge.go: a malformed request or answer does not reach Raft, where it would end the
//     process, or use up the terms there are.
//   - pledge.go: a replica that replaces a deleted one keeps the promises of the deleted
//     replica, to candidates and to leaders.
//   - members.go: a removed server is not called any more: another node may be at its
//     address by then.
//   - pace.go: a request may take as long as its bytes move, so that a long entry arrives
//     over a narrow link; a link that stands still is noticed nevertheless.
//   - hush.go: a node that restarts accepts no request until no lease can rest any more on
//     a promise that the node has forgotten.
//   - logstore.go, checksum.go: every entry has a checksum, which is checked when it is
//     written and when it is read; a log never has a gap; long ranges are deleted in pieces;
//     an empty log ends at the newest snapshot, or that snapshot would be written again and
//     again.
//   - walfiles.go: raft-wal's files are synced without their times, over blocks that
//     were written before, so that a sync writes the entries and little else.
//   - waltail.go: the newest file of raft-wal is repaired before it is opened: the rest of
//     a torn append is removed, and a seal that is not listed yet is listed; if a new file
//     could not be begun, the process ends and says why.
//   - waldamage.go: damage in the middle of that file is not taken for a torn append,
//     for then all entries behind the damage would be cut off.
//   - boltcheck.go: a file of bbolt is examined before bbolt opens it. bbolt would follow
//     a damaged page into a panic, and would use an older root if the newest is damaged.
//   - fault.go: if a store or the library panics over damaged data, or a memory fault
//     occurs, the process ends and says why.
//   - parts.go: a log, a journal or a vote that is missing is not made again while other
//     parts are left; the founding of a group that was interrupted can be repeated.
//   - folder.go: files of bbolt are made whole or not at all; the files that are found in
//     a folder, and their names, are synced before they are relied upon.
//   - again.go: data that was written last, and perhaps never reached the disk, is
//     written again before Raft relies on it.
//   - pen.go: one goroutine at a time writes to a store, and none writes after a failed
//     write.
//   - watchdog.go: other nodes do not hear a leader whose store hangs, and a store that
//     fails or hangs for good ends the process (hashicorp/raft#503, #666, #614).
//   - scratch.go: a long entry is read from raft-boltdb into a buffer that is large enough,
//     which takes a tenth of the processor time.
//   - cache.go: recent entries are kept in memory up to a number of bytes.
//   - configuration.go: the latest configuration together with its index; the library
//     does not give the index.
//   - snapshots.go: leftovers are removed, those of a failure at once; the newest
//     snapshot is verified before Raft starts; a log that contradicts a snapshot is
//     noticed (hashicorp/raft#697); a log that ends before a snapshot is deleted at once;
//     a snapshot that is older than the newest, or does not arrive whole, is not
//     installed over the newest, nor relied upon after that.
//
// The library itself is not patched. It finds optional features by type assertion, so
// each wrapper implements the same interfaces as the value inside it: pre-vote and the
// monotonic log store stay visible.
package raftio
