//go:build !linux

package server

// cork does nothing where the kernel has no such option.
func cork(uintptr) {}
