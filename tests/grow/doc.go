// Package grow is black-box tests of clusters whose nodes come, go and die
// while clients write: replicas and leaders move, and the clients notice pauses
// at most.
package grow
