// Package lan is a network for tests: a bridge that joins network namespaces, each
// with an address of its own, and a name server. It takes root and iproute2; without
// them the tests that want it are skipped.
package lan
