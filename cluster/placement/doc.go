// Package placement decides which nodes have a replica of which shard, and which of
// them leads. It keeps the wanted number of replicas of every shard on nodes that
// answer, and spreads replicas and leaders evenly.
//
// Plan is a pure function of the meta group's view and of what the nodes report about
// themselves (Facts). Loop runs it on the meta group's leader and carries out its
// steps. A replica moves in four steps: the view wants one more (AddReplica); the
// shard's leader adds it as a non-voter, and makes it a voter when it has caught
// up (package membership); the view wants one less (DropReplica); the shard's
// leader removes that one. So a shard never has fewer voters than before, and
// the move may stop at any step: the next Plan goes on from there.
//
// Rules:
//   - One change at a time per shard, and a bounded number of copies at a time
//     in the cluster. But a replica that must stay, because too few others are alive,
//     does not hold up the replacement of a missing one.
//   - No replica is dropped if too few of the others answer. If there is one too many,
//     the one that has not answered for a while goes.
//   - A node that is leaving loses its replicas, to other nodes if there are any. A
//     drained node, and one that has been dead for long, loses them only to other nodes.
//   - Balance moves begin if two nodes differ by two, and each makes the sum of
//     squares smaller. So they end, and nothing moves back and forth.
package placement
