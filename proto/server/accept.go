package server

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// Closing a listener resets the connections in its queue, which the kernel has established and the
// server has not accepted yet. Their clients have sent their first command, and cannot tell whether
// it ran. So a stopping server first has the kernel ignore new connection requests, where the
// kernel can do that. Then it accepts the connections that are established or half established, and
// closes the listener last. A client that comes later is refused, and every client library knows
// what that means.

const (
	// The listener is closed when no client has come for lastGap: the handshakes of
	// half-established connections have completed by then, unless their clients are far away.
	// lastWait bounds this where new connections cannot be kept out. lastMost bounds it if
	// connections are still queued then, because on a busy machine they may not have been accepted
	// in time.
	lastGap  = 20 * time.Millisecond
	lastWait = 250 * time.Millisecond
	lastMost = 2 * time.Second
)

// Listen opens a port for clients. It uses plain TCP: for Multipath TCP, Go's default, new requests
// could not be kept out.
func Listen(addr string) (net.Listener, error) { return listen(addr, nil) }

func listen(addr string, control func(network, addr string, c syscall.RawConn) error) (net.Listener, error) {
	c := net.ListenConfig{Control: control}
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), "tcp", addr)
}

// Try reports whether Listen could open a port. It accepts no connection meanwhile, because that
// would be reset.
func Try(addr string) error {
	l, err := listen(addr, shut)
	if err != nil {
		return err
	}
	return l.Close()
}

func (s *Server) listen(l net.Listener, start func(net.Conn)) {
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	s.wait.Add(1)
	s.accepting.Go(func() {
		defer s.wait.Done()
		s.accept(l, start)
	})
}

func (s *Server) accept(l net.Listener, start func(net.Conn)) {
	delay := time.Duration(0)
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if s.isStopping() {
				acceptLast(l, start)
				return
			}
			// The process is most likely out of file descriptors, so retrying at
			// once would only burn a core.
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			s.cfg.Log.Warn("accept failed", "err", err, "retry", delay)
			select {
			case <-time.After(delay):
			case <-s.ctx.Done():
				return
			}
			continue
		}
		delay = 0
		start(conn)
	}
}

// deadliner is a listener whose Accept can be given a deadline.
type deadliner interface{ SetDeadline(t time.Time) error }

// acceptLast accepts the clients that are connected already, and closes the listener.
func acceptLast(l net.Listener, start func(net.Conn)) {
	defer l.Close()
	d, ok := l.(deadliner)
	for began := time.Now(); ok && (time.Since(began) < lastWait || queued(l) && time.Since(began) < lastMost); {
		if d.SetDeadline(time.Now().Add(lastGap)) != nil {
			return
		}
		conn, err := l.Accept()
		switch {
		case err == nil:
			start(conn)
		case !queued(l): // on a busy machine the time may be over before a queued connection was accepted
			return
		}
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// StopAccepting accepts the clients that are already connected, and closes the listeners. Connected
// clients are still served.
func (s *Server) StopAccepting() {
	s.mu.Lock()
	began := s.stopping
	s.stopping = true
	all := s.listeners
	s.mu.Unlock()
	for _, l := range all {
		if began {
			break
		}
		keepAway(l)
		// This wakes a goroutine that waits in Accept.
		if d, ok := l.(deadliner); !ok || d.SetDeadline(time.Now().Add(-time.Second)) != nil {
			l.Close()
		}
	}
	s.accepting.Wait()
}
