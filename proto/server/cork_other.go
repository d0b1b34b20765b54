//go:build !linux

package server

// cork does nothing where the kernel knows no such thing.
func cork(uintptr) {}
