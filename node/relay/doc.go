// Package relay brings events from other nodes to the clients of this node, and events of this node
// to other nodes: published messages (Messages), keyspace events (Events), what scripts did for a
// client of another node (Notices), and changes in shards of which this node has no replica
// (Feeds).
//
// None of this is in a log, and no client waits for a node that does not answer. A message to a
// node that cannot be reached is lost, as Redis loses a message to a client that is not connected.
// Changes of keys that clients cache must not be lost: they come over a feed, which reports its
// gaps.
package relay
