//go:build !linux

package demo

import "syscall"

// ofTheDemo makes a node run in a process group of its own, because Ctrl-C in the
// terminal is for the demo only. If the demo is killed, the node stays.
func ofTheDemo() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
