// Package membership makes the members of every Raft group follow the meta
// group's view: it brings nodes in, takes nodes out, and carries out what an
// operator orders.
//
// A node joins by asking any node of the cluster (Join, Door); the meta group
// notes it, and then the leader of each group of which it should have a replica,
// on its own, adds it as a non-voter and makes it a voter when it has caught up.
// A node leaves the same way backwards: the view says "leaving", each shard's
// leader takes it out when its replica is not wanted any more and notes that, the
// meta group's leader does so last, and then its id is buried. A removed node may never hear of that from Raft, so a node that
// hears from no leader asks the others how it stands (Vigil).
//
// Plan decides, Reconciler acts:
//   - One change at a time; the next is planned when the last is committed.
//   - No change leaves a group with fewer voters alive than it then needs,
//     unless the operator forced it.
//   - Only a node that the view says is leaving or removed, or whose replica it
//     says is going, is taken out. A server
//     that the view does not know stays: the view may be older than the group.
//   - Two servers never share an address: while the old one is a member, its
//     successor at the same address waits outside, with its groups closed, so
//     that nothing meant for the one is answered by the other.
//
// There is no automatic removal of dead nodes: only an operator knows whether a
// disk will come back. Their replicas are another matter; see package placement,
// which says in the view where replicas are wanted. Five nodes vote in the meta
// group, the others follow it.
package membership
