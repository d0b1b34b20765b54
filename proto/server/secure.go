package server

import (
	"net"
	"time"

	"lockstep/proto/resp"
)

// handshakeTimeout is how long a client's TLS handshake may take.
const handshakeTimeout = 10 * time.Second

// startSecure serves a client under TLS. The client counts from here on. If there
// are too many, it is closed without an error, because none can be sent before the
// handshake.
func (s *Server) startSecure(conn net.Conn) {
	if s.full() {
		s.cfg.Stats.RejectedConns.Add(1)
		conn.Close()
		return
	}
	s.keepAlive(conn)
	if s.track(conn) {
		go s.serveSecure(conn)
	}
}

func (s *Server) serveSecure(conn net.Conn) {
	sealed := resp.Seal(conn, s.cfg.Secure())
	if err := s.hall.Handshake(s.ctx, sealed, handshakeTimeout); err != nil {
		s.cfg.Stats.RejectedConns.Add(1)
		s.failures.Warn(s.cfg.Log, "a client was closed", "from", conn.RemoteAddr().String(), "reason", err)
		s.untrack(conn)
		return
	}
	if why := s.protected(conn); why != "" {
		s.refuse(sealed, why)
		s.untrack(conn)
		return
	}
	sealed.Begin()
	s.newHandler(sealed, conn).run(nil)
}
