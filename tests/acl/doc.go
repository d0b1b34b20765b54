// Package acl holds users and their rules beside redis-server's, and shows that
// they are the cluster's: alike on every node, after restarts and under a new
// leader, and inside scripts.
package acl
