package server_test

import (
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"lockstep/tests/respconn"
)

// faulty is a listener whose first attempts fail, as without file descriptors.
type faulty struct {
	net.Listener
	failures, attempts atomic.Int64
}

func (f *faulty) Accept() (net.Conn, error) {
	f.attempts.Add(1)
	if f.failures.Add(-1) >= 0 {
		return nil, errors.New("too many open files")
	}
	return f.Listener.Accept()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAcceptingSurvivesFailures(t *testing.T) {
	n := startNode(t, 1)
	l := &faulty{Listener: listen(t)}
	l.failures.Store(4)
	n.server.Serve(l)
	if got := do(t, dial(t, l.Addr().String()), "PING"); got != "+PONG" {
		t.Fatal(got)
	}
	if a := l.attempts.Load(); a > 6 {
		t.Errorf("%d attempts: it does not pause between them", a)
	}
}

// distant is a listener whose connections come from another machine.
type distant struct{ net.Listener }

type distantConn struct{ net.Conn }

func (distantConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func (d distant) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return distantConn{conn}, nil
}

func TestProtectedModeTakesNobodyFromAfar(t *testing.T) {
	n := startNode(t, 1)
	near, far := listen(t), listen(t)
	n.server.Serve(near)
	n.server.Serve(distant{far})
	n.protected.Store(true)
	if got := do(t, dial(t, near.Addr().String()), "PING"); got != "+PONG" {
		t.Error(got)
	}
	values, err := dial(t, far.Addr().String()).ReadToEnd()
	if err != nil || len(values) != 1 || !strings.HasPrefix(values[0].String(), "-DENIED ") {
		t.Error(values, err)
	}
	n.protected.Store(false)
	if got := do(t, dial(t, far.Addr().String()), "PING"); got != "+PONG" {
		t.Error(got)
	}
}

func TestDebugMayBeForThisMachineAlone(t *testing.T) {
	n := startNode(t, 1)
	far := listen(t)
	n.server.Serve(distant{far})
	n.set(func(s *settings) { s.DebugFor = "local" })
	ask := func(c *respconn.Conn) string { return do(t, c, "DEBUG", "SLEEP", "0") }
	if got := ask(dial(t, n.addr)); got != "+OK" {
		t.Error(got)
	}
	if got := ask(dial(t, far.Addr().String())); !strings.HasPrefix(got, "-ERR DEBUG command not allowed.") {
		t.Error(got)
	}
}
