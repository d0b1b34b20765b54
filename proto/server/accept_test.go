package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// faulty is a listener whose first calls of Accept fail, as without free file descriptors.
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
	n := prototest.StartNode(t, 1)
	l := &faulty{Listener: listen(t)}
	l.failures.Store(4)
	n.Server.Serve(l)
	if got := prototest.Do(t, prototest.Dial(t, l.Addr().String()), "PING"); got != "+PONG" {
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
	n := prototest.StartNode(t, 1)
	near, far := listen(t), listen(t)
	n.Server.Serve(near)
	n.Server.Serve(distant{far})
	n.Protected.Store(true)
	if got := prototest.Do(t, prototest.Dial(t, near.Addr().String()), "PING"); got != "+PONG" {
		t.Error(got)
	}
	values, err := prototest.Dial(t, far.Addr().String()).ReadToEnd()
	if err != nil || len(values) != 1 || !strings.HasPrefix(values[0].String(), "-DENIED ") {
		t.Error(values, err)
	}
	n.Protected.Store(false)
	if got := prototest.Do(t, prototest.Dial(t, far.Addr().String()), "PING"); got != "+PONG" {
		t.Error(got)
	}
}

func TestDebugMayBeForThisMachineAlone(t *testing.T) {
	n := prototest.StartNode(t, 1)
	far := listen(t)
	n.Server.Serve(distant{far})
	n.Set(func(s *client.Settings) { s.DebugFor = "local" })
	ask := func(c *respconn.Conn) string { return prototest.Do(t, c, "DEBUG", "SLEEP", "0") }
	if got := ask(prototest.Dial(t, n.Addr)); got != "+OK" {
		t.Error(got)
	}
	if got := ask(prototest.Dial(t, far.Addr().String())); !strings.HasPrefix(got, "-ERR DEBUG command not allowed.") {
		t.Error(got)
	}
}

// A client that is connected when a server closes is served, also if the server has not
// accepted the connection yet. A client that comes later is refused.
func TestClosingServesWhoHasConnected(t *testing.T) {
	for range 10 {
		n := prototest.StartNode(t, 1)
		n.Clients.Store(1000) // a client that has disconnected counts until the server notices
		n.Server.SetDrainTime(time.Minute)
		var served atomic.Int64
		var closing atomic.Bool
		var clients sync.WaitGroup
		defer closing.Store(true)
		for range 16 {
			clients.Go(func() {
				for {
					// On a busy machine a connection may take longer.
					conn, err := net.DialTimeout("tcp", n.Addr, 100*time.Millisecond)
					if err != nil && !closing.Load() {
						continue
					}
					if err != nil {
						return
					}
					c := respconn.New(conn)
					v, err := c.Do("INCR", "n")
					c.Close()
					if err != nil || v.IsError() {
						t.Errorf("connected, and then: %v %v", v, err)
						return
					}
					served.Add(1)
				}
			})
		}
		prototest.Until(t, "they come and go", func() bool { return served.Load() > 200 })
		closing.Store(true)
		n.Server.StopAccepting()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		n.Server.Close(ctx)
		cancel()
		clients.Wait()
	}
}

// Commands that arrived before a server closes are answered, even if no goroutine has read them
// yet.
func TestClosingAnswersWhatHasCome(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Server.SetDrainTime(0)
	n.Clients.Store(1000)
	var all []*respconn.Conn
	for range 200 {
		c := prototest.Dial(t, n.Addr)
		prototest.Do(t, c, "PING")
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Write(respconn.Command("INCR", "n")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n.Server.Close(ctx)
	for i, c := range all {
		if v, err := c.Read(); err != nil || v.IsError() {
			t.Fatalf("client %d: %v %v", i, v, err)
		}
		if _, err := c.Read(); !errors.Is(err, io.EOF) {
			t.Fatalf("client %d, after its answer: %v", i, err)
		}
	}
}
