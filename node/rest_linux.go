package node

import "syscall"

// restNs is how long a long command rests at least. The kernel adds some 50 us.
const restNs = 20_000

// rest leaves the core to others in the middle of a long command: it sleeps in the
// kernel, for a moment. To offer the processor to other goroutines (Gosched) is too
// little, for those who wait are threads, of this process and of others: with as many
// long commands as cores, each of them would wait for a slice of the kernel's
// scheduler, some milliseconds.
func rest() {
	moment := syscall.NsecToTimespec(restNs)
	_ = syscall.Nanosleep(&moment, nil)
}
