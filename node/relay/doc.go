// Package relay carries to the clients of this node what happens elsewhere, and to other nodes what happens
// here: published messages (Messages), keyspace events (Events), what scripts did for a client of another
// node (Notices), and changes in shards of which this node has no replica (Feeds).
//
// Nothing of this is in a log, and nobody waits for a node that does not answer: a message is lost to a node
// that cannot be reached, as Redis loses it to a client that is not connected. What must not be lost, a
// change that a client caches, comes over a feed, which reports on its gaps.
package relay
