// Package fulldisk fills the disk of a real lockstepd while it takes writes, or lets the disk
// hang. To mount a disk for a node needs root; without root the tests are skipped.
//
// The disk that is filled is a small tmpfs with nothing else on it, so filling it harms
// nobody. The node must end by itself, with a status other than 0, and its last message must
// name the disk. As long as the disk is full it may refuse to start again, with a reason. Once
// there is room it starts, and every write that it ever acknowledged is there. If the other
// nodes are a quorum without it, their clients see a pause at most.
//
// The disk that hangs is an ext4 in a file, frozen by fsfreeze(8): a process that writes to it
// waits in the kernel, as for a disk that does not answer. Another node must lead meanwhile. When
// the disk works again, the process still runs, its own clients have seen only a pause, and no
// acknowledged write is lost, doubled or missing in a later read.
//
// tmpfs has no journal and keeps nothing over a power failure; package powercut tests power
// failures.
package fulldisk
