package demo

import "syscall"

// ofTheDemo is how its nodes run: in process groups of their own, for Ctrl-C in the
// terminal is for the demo alone, and no longer than it.
func ofTheDemo() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
