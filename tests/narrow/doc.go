// Package narrow is narrow ways to nodes, for tests, and the tests of what a long command
// does on them: nobody waits for good, heartbeats and votes arrive in time.
package narrow
