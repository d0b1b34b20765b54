package server

import "golang.org/x/sys/unix"

// cork has the kernel wait for more before it sends what is less than a packet.
func cork(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_CORK, 1) }
