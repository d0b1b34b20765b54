// Package meta is the state machine and the client of the meta group: the one
// Raft group that every node belongs to. It holds what all nodes must agree on
// and what changes rarely: the cluster's id, the choices made at its creation,
// its nodes and their addresses, the shards and where their replicas are, and
// the cluster-wide settings.
//
// Machine applies one command at a time, at once, on the goroutine that hands
// over the log, and publishes each new state as a View: immutable, behind an
// atomic pointer, so that a router may ask for one on every command. Client
// proposes commands from any node and carries them to the leader.
//
// Invariants:
//   - What a command does depends on the state and the command alone. Times in
//     it were written by its proposer and are never compared.
//   - Every command may be asked for again: the second time it finds its work
//     done and says so. So a client may retry when it cannot know the outcome.
//   - A node id is never used twice. It is a name and a random incarnation that
//     lives in the data folder; a folder that was lost takes its id with it, and
//     the same name on a new folder is a new node.
//   - A command that this version does not know stops the node: skipping it would
//     let replicas differ.
//
// A View is a routing hint and may be old: it has no order with a shard's log,
// so nothing that a shard applies may look at it.
//
// The state is JSON, in the log and in snapshots: it is small, changes by hand,
// and is read by people when something has gone wrong. An envelope with a
// version and a checksum keeps damage out.
package meta
