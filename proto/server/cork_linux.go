package server

import "golang.org/x/sys/unix"

// cork has the kernel hold back data that does not fill a packet.
func cork(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_CORK, 1) }
