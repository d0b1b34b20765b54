package server

import (
	"io"
	"net"
	"syscall"
	"time"

	"lockstep/proto/poll"
)

// hold keeps what is sent from now on until the connection ends, or for a fifth
// of a second where the system can, so that the last reply and the end are one
// packet: a client that has the reply knows that nothing more is taken.
func hold(conn net.Conn) {
	if c, ok := conn.(*poll.Conn); ok {
		_ = c.Control(cork)
		return
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(cork)
	}
}

// seeOffTime is how long a client has to notice that its connection ends.
const seeOffTime = 50 * time.Millisecond

// seeOff ends a connection so that the last replies arrive: to close it while
// something comes in would make the kernel reset it, and take back what the
// client has not read yet. What comes in is not run.
func seeOff(conn net.Conn) {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || conn.SetReadDeadline(time.Now().Add(seeOffTime)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, conn)
}
