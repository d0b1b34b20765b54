//go:build !linux

package server

import "net"

func keepAway(net.Listener) {}

func queued(net.Listener) bool { return false }

func unread(uintptr) int { return 0 }
