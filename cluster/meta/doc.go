// Package meta is the state machine and the client of the meta group: the one Raft group that every
// node belongs to. It holds what all nodes must agree on and what changes rarely: the cluster's id,
// the choices made at its creation, its nodes and their addresses, the shards and where their
// replicas are, and the cluster-wide settings.
//
// Machine applies one command at a time, on the goroutine that delivers the log. It publishes each
// new state as a View: immutable, behind an atomic pointer, so that a router can read it on every
// command. Client proposes commands on any node and sends them to the leader.
//
// Invariants:
//   - The effect of a command depends on the state and the command alone. The
//     proposer writes the times in it; no replica compares them with its clock.
//   - A command may come twice. The second time its work is already done, and the
//     reply says so. So a client may retry when it does not know the outcome.
//   - A node id is never used twice. It is a name and a random incarnation that
//     the data folder holds. A lost folder takes its id with it: the same name
//     with a new folder is a new node.
//   - A command that this version does not know stops the node: if one replica
//     skipped it, the replicas would differ.
//
// A View is a routing hint and may be old. Its changes have no order relative to a shard's log, so
// code that applies a shard's log must not look at it.
//
// The state is JSON, in the log and in snapshots: it is small, changes only on orders of people,
// and people read it when something has gone wrong. An envelope with a version and a checksum
// detects damage.
package meta
