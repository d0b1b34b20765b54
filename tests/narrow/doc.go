// Package narrow slows down the connections of nodes for tests, and tests long commands on such
// connections: no client waits forever, and heartbeats and votes arrive in time.
package narrow
