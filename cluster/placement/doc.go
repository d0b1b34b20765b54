// Package placement decides which nodes have a replica of which shard, and who
// leads: it keeps the wanted number of replicas of every shard on nodes that
// answer, and spreads replicas and leaders evenly.
//
// Plan is a pure function of the meta group's view and of what the nodes say of
// themselves (Facts); Loop runs it on the meta group's leader and carries its
// steps out. A replica moves in four: the view wants one more (AddReplica); the
// shard's leader adds it as a non-voter and makes it a voter when it has caught
// up (package membership); the view wants one less (DropReplica); the shard's
// leader takes that one out. So a shard never has fewer voters than before, and
// each step may be the last for a while: the next Plan goes on from there.
//
// Rules:
//   - One change at a time per shard, and a bounded number of copies at a time
//     in the cluster. But a replica that cannot go, for too few others are alive,
//     does not hold up one that is missing.
//   - No replica is dropped if too few of the others answer. Of one too many the
//     one that does not answer goes, when it has not for a while.
//   - A node that is leaving loses its replicas, to others as far as there are
//     any. A drained node, and one that has been dead for long, loses them only
//     to others.
//   - Balance moves begin where two nodes differ by two, and each makes the
//     sum of squares smaller; so they end, and nothing goes to and fro.
package placement
