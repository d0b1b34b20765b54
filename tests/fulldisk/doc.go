// Package fulldisk fills the disk of a real lockstepd while it takes writes, or lets
// it hang. Mounting a disk of its own under a node needs root, and without it the tests
// are skipped.
//
// The disk that is filled is a small tmpfs with nothing else on it, so filling it harms
// nobody. What must hold: the node ends by itself, with a status that is not 0, and the
// last it says names the disk; as long as the disk is full it may refuse to start
// again, in words; once there is room it starts, and every write that it ever
// acknowledged is there. Where others make a quorum without it, their clients see
// a pause at most.
//
// The disk that hangs is an ext4 in a file, frozen by fsfreeze(8): whoever writes to it
// waits in the kernel, as for a disk that does not answer. Another node must lead
// meanwhile; when the disk goes on the process lives, its own clients have seen a pause
// as well, and nothing that was acknowledged is lost, doubled or read too old.
//
// tmpfs has no journal and keeps nothing over a power failure; what a power
// failure leaves is the matter of package powercut.
package fulldisk
