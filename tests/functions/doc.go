// Package functions tests libraries of functions in clusters of real processes. A library that is
// loaded through one node is known on all nodes. It survives changes of the leader and restarts,
// with and without snapshots, and can be moved to redis-server and back. A running function can be
// seen and ended from any node. No library can take a node down.
package functions
