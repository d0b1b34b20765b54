// Package raftio is the edge between hashicorp/raft v1.7.3 and the disk and
// network below it. Every hole of the library that Lockstep knows of and that
// can be closed from outside is closed here, one file each, and each has a
// test that is named for the promise:
//
//   - stable.go: a vote is written in one piece, not term first and candidate
//     later (hashicorp/raft#661); term and vote bear a checksum.
//   - proof.go, pipeline.go: proof of leadership counts from when a request was
//     sent, not from when its answer arrived (etcd-io/etcd#20418 is the same
//     class); heartbeats go through Raft's main loop (hashicorp/raft#695); a
//     request is for one node and reaches no other; one request carries a
//     bounded number of bytes; a pipeline does not wedge behind a failure
//     (hashicorp/raft#612).
//   - commit.go: a follower commits no further than it was compared with its leader.
//   - covered.go: what a leader sends is compared with the newest snapshot, too, where
//     the log begins behind it.
//   - installs.go: who refuses a snapshot because it has what is in it is sent what comes
//     behind, not the snapshot for ever.
//   - lease.go: a read lease that is sound across restarts, transfers, changes
//     of configuration and suspended machines.
//   - transfer.go: an order to lead that comes late breaks no lease, and one that is
//     not answered does not keep a leader from taking entries; a vote sticks to the leader
//     by its id, not by its address.
//   - judge.go: a request or an answer that makes no sense does not reach Raft, where it
//     would end the process, or use up the terms there are.
//   - pledge.go: a replica in the place of one that was deleted keeps what that one has
//     promised, to candidates and to leaders.
//   - members.go: a server that was taken out is not called any more: another node may
//     be at its address by then.
//   - pace.go: a request may take as long as its bytes move, so that a long entry arrives
//     over a narrow link; a link that stands still is noticed all the same.
//   - hush.go: a node that restarts keeps silent until no lease rests any more
//     on a promise it has forgotten.
//   - logstore.go, checksum.go: every entry bears a checksum, which is examined
//     when it is written and when it is read; a log never has a gap; long ranges
//     are deleted in pieces; an empty log is as long as the newest snapshot, or that would
//     be written again and again.
//   - walfiles.go: raft-wal's files are synced without their times, over blocks that
//     were written before, so that a sync writes the entries and little else.
//   - waltail.go: the newest file of raft-wal is mended before it is opened: the
//     rest of a torn append is removed, a seal that is not listed is; that a new
//     file could not be begun ends the process with that for a reason.
//   - waldamage.go: what is damaged in the middle of that file is not taken for a
//     torn append, which would cut off all behind it.
//   - boltcheck.go: a file of bbolt is examined before bbolt opens it, which would follow what
//     a damaged page says into a panic, and take an older root for a damaged one.
//   - fault.go: where a store or the library would panic over what is damaged, or a memory
//     fault would end the process, the process ends with a reason.
//   - parts.go: a log, a journal or a vote that is gone is not made anew beside what
//     is left; the founding of a group that was cut short can be done again.
//   - folder.go: files of bbolt are made whole or not at all; what is found in a
//     folder, and its names, are synced before anybody counts on them.
//   - again.go: what was written last, and perhaps never reached the disk, is written
//     again before anybody counts on it.
//   - pen.go: a store is written to by one at a time, and by nobody behind a write
//     that failed.
//   - watchdog.go: a leader whose store hangs is not heard, and a store that fails or
//     hangs for good ends the process (hashicorp/raft#503, #666, #614).
//   - scratch.go: a long entry is read from raft-boltdb with room for all of it, which costs
//     a tenth of the processor time.
//   - cache.go: recent entries are kept in memory up to a number of bytes.
//   - configuration.go: the latest configuration together with its index, which
//     the library does not tell.
//   - snapshots.go: leftovers are removed, those of a failure at once; the newest
//     snapshot is verified before Raft starts, a log that contradicts a snapshot is
//     noticed (hashicorp/raft#697), a log that ends before a snapshot goes at once, and a
//     snapshot that is older than the newest, or does not arrive whole, is not installed over it, nor counted on
//     again behind it.
//
// Nothing of the library is patched. What each wrapper implements is what the
// library looks for: pre-vote and the monotonic log store stay visible.
package raftio
