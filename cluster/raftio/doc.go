// Package raftio is the edge between hashicorp/raft v1.7.3 and the disk and
// network below it. Every hole of the library that Lockstep knows of and that
// can be closed from outside is closed here, one file each, and each has a
// test named after it:
//
//   - stable.go: a vote is written in one piece, not term first and candidate
//     later (hashicorp/raft#661).
//   - proof.go: proof of leadership counts from when a request was sent, not
//     from when its answer arrived (etcd-io/etcd#20418 is the same class);
//     heartbeats go through Raft's main loop (hashicorp/raft#695).
//   - lease.go: a read lease that is sound across restarts, transfers and
//     changes of configuration.
//   - logstore.go: entries are checked when they are written and read; a store
//     that fails or hangs ends the process (hashicorp/raft#503, #666, #614);
//     long ranges are deleted in pieces.
//   - snapshots.go: leftovers are removed, the newest snapshot is verified
//     before Raft starts, and a log that contradicts an installed snapshot is
//     noticed (hashicorp/raft#697).
//
// Nothing of the library is patched.
package raftio
