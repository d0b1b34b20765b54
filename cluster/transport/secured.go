package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"lockstep/ground/secure"
)

// secured is a connection between two nodes under TLS. Close closes the raw connection: the frames
// show whether anything is missing, and a TLS goodbye could take as long as the other side likes.
type secured struct{ *tls.Conn }

// Close implements net.Conn.
func (s secured) Close() error { return s.NetConn().Close() }

// securely puts an accepted connection under TLS if the configuration says so. The returned
// connection replaces conn, even after an error.
func (t *Transport) securely(conn net.Conn) (net.Conn, error) {
	if t.cfg.Secure == nil {
		return conn, nil
	}
	under := tls.Server(conn, t.cfg.Secure.Accepting())
	if err := secure.Handshake(t.ctx, under, t.pace.preface); err != nil {
		return conn, err
	}
	s := secured{under}
	if !t.swap(conn, s) {
		return s, ErrClosed
	}
	return s, nil
}

// dialSecurely puts a connection that was made to addr under TLS if the configuration says so. If
// that fails, it closes the connection.
func (t *Transport) dialSecurely(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	if t.cfg.Secure == nil {
		return conn, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	under := tls.Client(conn, t.cfg.Secure.Dialling(host))
	if err := under.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS with %s: %w", addr, err)
	}
	return secured{under}, nil
}
