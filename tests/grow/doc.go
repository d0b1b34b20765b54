// Package grow has black-box tests of clusters whose nodes join, leave and die while clients write.
// Replicas and leaders move, and the clients see at most a pause.
package grow
