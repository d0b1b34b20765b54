// Package grow has black-box tests of clusters whose nodes come, go and die while clients
// write. Replicas and leaders move, and clients see pauses at most.
package grow
