// Package fulldisk fills the disk of a real lockstepd while it takes writes.
// The disk is a small tmpfs with nothing else on it, so filling it harms nobody;
// mounting one needs root, and without it the tests are skipped.
//
// What must hold: the node ends by itself, with a status that is not 0, and the
// last it says names the disk; as long as the disk is full it may refuse to start
// again, in words; once there is room it starts, and every write that it ever
// acknowledged is there. Where others make a quorum without it, their clients see
// a pause at most.
//
// tmpfs has no journal and keeps nothing over a power failure; what a power
// failure leaves is the matter of package powercut.
package fulldisk
