package server

import (
	"context"
	"io"
	"net"
	"syscall"
	"time"

	"lockstep/proto/poll"
)

// holdLastReply keeps back data sent from now on until the connection ends, or for a fifth
// of a second where the system supports it. The last reply and the end then arrive
// in one packet: a client that has the reply knows that no further command is
// taken.
func holdLastReply(conn net.Conn) { control(conn, cork) }

// unreadMost is how long a closing server waits while connections have unread input.
const unreadMost = 2 * time.Second

// awaitUnread returns when no input is left unread. On a busy machine a command may have arrived
// long before it is read, and closing its connection then would reset it. awaitUnread also waits
// for batches under way. A client that sends only a part of a command delays the server for no
// longer than unreadMost.
func (s *Server) awaitUnread(ctx context.Context) {
	end := time.Now().Add(unreadMost)
	// Input that was read a moment ago may not count as under way yet.
	for idle := 0; idle < 2 && ctx.Err() == nil && (s.active.Load() > 0 || time.Now().Before(end)); pause(ctx, 2*time.Millisecond) {
		if s.hasUnread() || s.atWork() {
			idle = 0
		} else {
			idle++
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

// hasUnread reports whether any connection has received input that is not read yet.
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

// atWork reports whether a batch is under way, or may be: input that a loop has read counts only
// after the loop has called its guest.
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

// lingerTime is how long a client has to notice that its connection ends.
const lingerTime = 50 * time.Millisecond

// linger ends a connection so that the last replies arrive. If it were closed while
// input still arrives, the kernel would reset it and discard what the client has
// not read yet. The input is not run.
func linger(conn net.Conn) {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, conn)
}
