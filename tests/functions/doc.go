// Package functions looks at libraries of functions in clusters of real
// processes: that a library loaded through one node is known on all, survives
// the leader and restarts, with and without snapshots, and goes to redis-server
// and back; that what runs can be seen and ended from any node; and that no
// library can take a node down.
package functions
