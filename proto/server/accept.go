package server

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// Closing a listener resets the connections in its queue: those that the kernel has made
// and nobody has accepted. Their clients have sent their first command, and cannot tell
// whether it ran. So a server that stops first has the kernel answer no new requests for
// a connection, where the kernel can do that. Then it accepts the connections that are
// made or half made, and closes the listener last. A client that comes later is refused,
// and every client library knows what that means.

const (
	// lastGap is for how long nobody must have come before the listener is closed: those
	// who were half there have come by then, if they are not far away. lastWait is how
	// long that may take, where new ones cannot be kept away, and lastMost where somebody
	// waits there still: on a busy machine nobody may have looked meanwhile.
	lastGap  = 20 * time.Millisecond
	lastWait = 250 * time.Millisecond
	lastMost = 2 * time.Second
)

// Listen opens a port for clients. It is one of plain TCP: of Multipath TCP, which Go
// would take, new requests cannot be kept away.
func Listen(addr string) (net.Listener, error) { return listen(addr, nil) }

func listen(addr string, control func(network, addr string, c syscall.RawConn) error) (net.Listener, error) {
	c := net.ListenConfig{Control: control}
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), "tcp", addr)
}

// Try reports whether Listen would open a port. Nobody gets a connection meanwhile, for
// it would be reset.
func Try(addr string) error {
	l, err := listen(addr, shut)
	if err != nil {
		return err
	}
	return l.Close()
}

func (s *Server) listen(l net.Listener, begin func(net.Conn)) {
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	s.wait.Add(1)
	s.accepting.Go(func() {
		defer s.wait.Done()
		s.accept(l, begin)
	})
}

func (s *Server) accept(l net.Listener, begin func(net.Conn)) {
	delay := time.Duration(0)
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if s.isStopping() {
				acceptLast(l, begin)
				return
			}
			// Most likely out of file descriptors: to try at once would only burn a
			// core.
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
		begin(conn)
	}
}

// deadliner is a listener that can be told for how long to wait.
type deadliner interface{ SetDeadline(t time.Time) error }

// acceptLast accepts the clients that are connected already, and closes the listener.
func acceptLast(l net.Listener, begin func(net.Conn)) {
	defer l.Close()
	d, ok := l.(deadliner)
	for began := time.Now(); ok && (time.Since(began) < lastWait || queued(l) && time.Since(began) < lastMost); {
		if d.SetDeadline(time.Now().Add(lastGap)) != nil {
			return
		}
		conn, err := l.Accept()
		switch {
		case err == nil:
			begin(conn)
		case !queued(l): // on a busy machine the time may be over before anybody has looked
			return
		}
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// StopAccepting closes the listeners once the clients have been accepted that are there;
// clients go on.
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
		// A goroutine that waits in Accept wakes up.
		if d, ok := l.(deadliner); !ok || d.SetDeadline(time.Now().Add(-time.Second)) != nil {
			l.Close()
		}
	}
	s.accepting.Wait()
}
