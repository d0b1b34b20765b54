//go:build !linux

package demo

import "syscall"

// ofTheDemo is how its nodes run: in process groups of their own, for Ctrl-C in the
// terminal is for the demo alone. Where it is killed they stay.
func ofTheDemo() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
