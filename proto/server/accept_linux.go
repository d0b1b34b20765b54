package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// newcomersOnly drops connection requests (segments with SYN set and ACK not), and passes all
// others. A listener's filter sees the TCP header; the flags are its byte 13.
var newcomersOnly = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13},
	{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0x12},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0x02, Jt: 0, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
}

// keepAway has the kernel ignore new connection requests, so that the listener's queue stops
// growing. Connections that are still being established inherit the filter, which does not affect
// them.
func keepAway(l net.Listener) {
	c, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	// Where there are no filters the queue is emptied all the same. Only a client that comes at the
	// last moment is reset.
	control(c, refuseNewcomers)
}

func refuseNewcomers(fd uintptr) {
	program := unix.SockFprog{Len: uint16(len(newcomersOnly)), Filter: &newcomersOnly[0]}
	_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)
}

// shut keeps all clients away from a socket before it starts to listen.
func shut(_, _ string, c syscall.RawConn) error { return c.Control(refuseNewcomers) }

// queued reports whether a connection waits to be accepted.
func queued(l net.Listener) (is bool) {
	if c, ok := l.(syscall.Conn); ok {
		control(c, func(fd uintptr) {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			is = err == nil && n > 0
		})
	}
	return is
}

// unread is how many received bytes of a connection have not been read.
func unread(fd uintptr) int {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
