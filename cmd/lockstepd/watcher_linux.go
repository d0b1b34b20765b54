package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Go's runtime has a thread that watches system calls. It asks to be woken after 20 µs
// for as long as it finds calls that last longer, which in a busy node it does: the
// log's syncs and the sleep of the loops are such. That was a tenth of the processor
// time of a SET (docs/benchmarks.md). How much later than asked for the kernel may wake
// a thread it inherits from the one that started it, and nobody of ours runs on this
// one or could start it. So the program begins, sets that for itself, and begins again
// in the same process.
const (
	// watcherSlackNs is how late the watcher may be. Nothing but calls that block
	// longer, and goroutines that do not yield for 10 ms, waits for it.
	watcherSlackNs = 300_000
	// slackNs is what the kernel gives a thread that does not ask. The first thread goes back to
	// it; others may have what they inherited, and code that minds asks (node/process/rest_linux.go).
	slackNs = 50_000
	// startedAgain, in the environment, tells the second beginning from the first.
	startedAgain = "LOCKSTEP_STARTED_AGAIN"
)

// init, and not main, is certain to run on the thread that started the watcher.
func init() {
	if os.Getenv(startedAgain) != "" {
		_ = os.Unsetenv(startedAgain)
		_ = setSlack(slackNs)
		return
	}
	if had, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || had != slackNs {
		return // somebody has chosen (systemd's TimerSlackNSec), or it is not to be had
	}
	// By its path: what is started as /proc/self/exe is called exe in lists of processes.
	path, err := os.Executable()
	if err != nil || setSlack(watcherSlackNs) != nil {
		return
	}
	var files unix.Rlimit
	known := unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil
	_ = syscall.Exec(path, os.Args, append(os.Environ(), startedAgain+"=1"))
	// It may not be allowed, or the file may be gone. It works as well without; but Exec
	// has set back how many files may be open, which Go had raised.
	_ = setSlack(slackNs)
	if known {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &files)
	}
}

func setSlack(ns uintptr) error { return unix.Prctl(unix.PR_SET_TIMERSLACK, ns, 0, 0, 0) }
