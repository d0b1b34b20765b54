// Package lan is a network for tests: a bridge that joins network namespaces, each with an
// address of its own, and a name server. It needs root and iproute2; without them tests that
// use it are skipped.
package lan
