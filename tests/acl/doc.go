// Package acl compares users and their rules with redis-server's. It tests that the users belong to
// the cluster: they are the same on every node, after restarts, under a new leader and in scripts.
package acl
