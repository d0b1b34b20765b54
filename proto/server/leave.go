package server

import (
	"context"
	"io"
	"net"
	"syscall"
	"time"

	"lockstep/proto/poll"
)

// hold keeps what is sent from now on until the connection ends, or for a fifth
// of a second where the system can, so that the last reply and the end are one
// packet: a client that has the reply knows that nothing more is taken.
func hold(conn net.Conn) { control(conn, cork) }

// unreadMost is how long a server that closes waits for connections on which something
// has come that is not read yet.
const unreadMost = 2 * time.Second

// awaitUnread returns when nothing is left unread: on a busy machine a command may be
// there for long before it is looked at, and to close its connection would be to reset
// it. awaitUnread waits for batches that are under way, too. A client that sends a part
// of a command and no more does not hold the server up for long.
func (s *Server) awaitUnread(ctx context.Context) {
	end := time.Now().Add(unreadMost)
	// What was read a moment ago may not count as under way yet.
	for quiet := 0; quiet < 2 && ctx.Err() == nil && (s.active.Load() > 0 || time.Now().Before(end)); pause(ctx, 2*time.Millisecond) {
		if s.hasUnread() || s.atWork() {
			quiet = 0
		} else {
			quiet++
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// hasUnread reports whether something has come on any connection that is not read yet.
func (s *Server) hasUnread() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		n := 0
		control(conn, func(fd uintptr) { n = unread(fd) })
		if n > 0 {
			return true
		}
	}
	return false
}

// atWork reports whether anything is under way, or may be: what a loop has read counts
// when it has had its turn.
func (s *Server) atWork() bool {
	for _, l := range s.loops {
		if !l.Resting() {
			return true
		}
	}
	return s.active.Load() > 0
}

// control calls f with the descriptor of a connection or a listener, if it has one.
func control(conn any, f func(fd uintptr)) {
	switch c := conn.(type) {
	case *poll.Conn:
		_ = c.Control(f)
	case syscall.Conn:
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(f)
		}
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
