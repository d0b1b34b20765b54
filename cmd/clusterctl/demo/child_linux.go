package demo

import "syscall"

// ofTheDemo makes a node run in a process group of its own, because Ctrl-C in the
// terminal is for the demo only. The node ends with the demo.
func ofTheDemo() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
