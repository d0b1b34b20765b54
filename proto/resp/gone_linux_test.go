package resp

import (
	"net"
	"testing"
	"time"

	"lockstep/proto/poll"
)

// A client has gone once its end of the connection is closed, even if bytes that it sent earlier
// have not been read. While the client is connected, no byte that it sends is lost.
func TestWhetherTheClientHasGone(t *testing.T) {
	gone := func(g *Guard) bool {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			if g.Gone() {
				return true
			}
		}
		return false
	}
	limits := func() Limits { return DefaultLimits }
	for name, serve := range map[string]func(in net.Conn) net.Conn{
		"plain": func(in net.Conn) net.Conn { return in },
		"in a loop": func(in net.Conn) net.Conn {
			l, err := poll.New()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.Close)
			conn, err := l.Take(in.(*net.TCPConn))
			if err != nil {
				t.Fatal(err)
			}
			return conn
		},
	} {
		for how, leave := range map[string]func(*net.TCPConn){
			"it closes": func(c *net.TCPConn) { c.Close() }, "it closes its half": func(c *net.TCPConn) { _ = c.CloseWrite() },
			"it breaks off": func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				client, in := pair(t)
				conn := serve(in)
				defer conn.Close()
				g := NewGuard(conn, limits, &Traffic{})
				if _, err := client.Write([]byte("PING\r\n")); err != nil {
					t.Fatal(err)
				}
				if g.Gone() {
					t.Error("it is there")
				}
				leave(client)
				if !gone(g) {
					t.Error("nobody notices that it has gone")
				}
			})
		}
	}
	t.Run("under TLS", func(t *testing.T) {
		g, client, _ := sealedPair(t, DefaultLimits)
		if g.Gone() {
			t.Error("it is there")
		}
		client.Close()
		if !gone(g) {
			t.Error("nobody notices that it has gone")
		}
	})
	t.Run("closed here", func(t *testing.T) {
		_, in := pair(t)
		g := NewGuard(in, limits, &Traffic{})
		g.Close()
		if !g.Gone() {
			t.Error("a connection that was closed here is taken for one that is there")
		}
	})
}

// pair is a connection and its other end.
func pair(t *testing.T) (client *net.TCPConn, in net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if in, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); in.Close() })
	return conn.(*net.TCPConn), in
}
