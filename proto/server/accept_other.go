//go:build !linux

package server

import (
	"net"
	"syscall"
)

func keepAway(net.Listener) {}

func queued(net.Listener) bool { return false }

func unread(uintptr) int { return 0 }

func shut(_, _ string, _ syscall.RawConn) error { return nil }
