package resp

import (
	"golang.org/x/sys/unix"
)

// controller is a connection that gives access to its descriptor.
type controller interface{ Control(func(fd uintptr)) error }

// Gone reports whether the client's end of the connection, or all of it, is closed. It reads nothing: the input stays
// available. Any goroutine may call it.
func (g *Guard) Gone() bool {
	var raw controller = g.out.raw
	if c, ok := g.out.conn.(controller); ok {
		raw = c
	}
	if raw == nil {
		return false
	}
	gone := false
	err := raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0
	})
	return gone || err != nil
}
