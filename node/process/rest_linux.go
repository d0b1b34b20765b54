package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// A long command sleeps for at least restNs, and the kernel may add restSlackNs. Rest sets the
// slack because a thread may have been started with more timer slack (TimerSlackNSec of the systemd
// unit).
const restNs, restSlackNs = 20_000, 50_000

// Rest leaves the core to others in the middle of a long command: it sleeps in the kernel for a
// moment. Yielding to other goroutines (Gosched) is not enough, because the waiters are threads of
// this process and of others. With as many long commands as cores, each thread would wait for a
// time slice of the kernel's scheduler, some milliseconds.
func Rest() {
	moment := syscall.NsecToTimespec(restNs)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, restSlackNs, 0, 0, 0)
	_ = syscall.Nanosleep(&moment, nil)
}
