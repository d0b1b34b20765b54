package transport

import (
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout bounds how long bytes that were sent may stay unacknowledged.
func setUserTimeout(fd uintptr, d time.Duration) {
	_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
}
