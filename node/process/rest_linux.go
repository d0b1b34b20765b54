package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// A long command sleeps for restNs at least. The kernel may add restSlackNs. A thread may have been
// started with more timer slack than that (TimerSlackNSec of the systemd unit).
const restNs, restSlackNs = 20_000, 50_000

// Rest leaves the core to others in the middle of a long command: it sleeps in the
// kernel, for a moment. To offer the processor to other goroutines (Gosched) is too
// little, for what waits are threads, of this process and of others: with as many
// long commands as cores, each of them would wait for a slice of the kernel's
// scheduler, some milliseconds.
func Rest() {
	moment := syscall.NsecToTimespec(restNs)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, restSlackNs, 0, 0, 0)
	_ = syscall.Nanosleep(&moment, nil)
}
