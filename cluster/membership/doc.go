// Package membership makes the members of every Raft group follow the meta
// group's view: it brings nodes in, takes nodes out, and carries out what an
// operator orders.
//
// A node joins by asking any node of the cluster (Join, Admission). The meta group notes
// it. Then the leader of each group of which the node should have a replica adds it as
// a non-voter, and makes it a voter when it has caught up. A node leaves in the reverse
// order: the view says "leaving"; each shard's leader removes it when its replica is no
// longer wanted, and notes that; the meta group's leader removes it last. Its id is then
// never accepted again. Raft may never tell a removed node that it was removed, so a node
// without a leader asks the other nodes about itself (RemovalWatch).
//
// Plan decides, Reconciler acts:
//   - One change at a time; the next is planned when the last is committed.
//   - No change leaves a group with fewer voters alive than it then needs,
//     unless the operator forced it.
//   - A server is removed only if the view says that the node is leaving or removed,
//     or that its replica is going. A server that the view does not know stays: the
//     view may be older than the group.
//   - Two servers never share an address: while the old one is a member, its
//     successor at the same address waits outside, with its groups closed, so
//     that neither answers messages for the other.
//
// There is no automatic removal of dead nodes: only an operator knows whether a
// disk will come back. Their replicas are another matter; see package placement,
// which says in the view where replicas are wanted. Five nodes vote in the meta
// group, the others follow it.
package membership
