package secure_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/ground/secure"
	"lockstep/tests/kit/certs"
)

// A full hall admits the newest connection and drops the oldest. A connection that does its
// handshake gets through.
func TestHallIsBounded(t *testing.T) {
	a := certs.NewAuthority(t, "own")
	k := open(t, certs.NewMount(t, a.Issue(certs.Wish{}), a), io.Discard)
	var hall secure.Hall
	var wait sync.WaitGroup
	const guests = secure.HandshakesMax + 10
	ended := make(chan error, guests)
	var outside []net.Conn
	for range guests {
		in, out := net.Pipe()
		outside = append(outside, out)
		wait.Go(func() { ended <- hall.Handshake(context.Background(), tls.Server(in, k.Accepting()), time.Hour) })
	}
	for range guests - secure.HandshakesMax {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "the oldest") {
			t.Errorf("pushed out: %v", err)
		}
	}
	if n := hall.Len(); n > secure.HandshakesMax {
		t.Errorf("%d in the hall", n)
	}
	in, out := net.Pipe()
	defer out.Close()
	wait.Go(func() { _ = tls.Client(out, k.Dialling("127.0.0.1")).Handshake() })
	if err := hall.Handshake(context.Background(), tls.Server(in, k.Accepting()), 20*time.Second); err != nil {
		t.Error(err)
	}
	for _, out := range outside {
		out.Close()
	}
	for range secure.HandshakesMax {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "went away") && !strings.Contains(err.Error(), "the oldest") {
			t.Error(err)
		}
	}
	wait.Wait()
	in, out = net.Pipe()
	defer out.Close()
	if err := hall.Handshake(context.Background(), tls.Server(in, k.Accepting()), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("who says nothing: %v", err)
	}
}

// comer is a connection from an address.
type comer struct {
	net.Conn
	from   string
	closed bool
}

func (c *comer) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 1}
}

func (c *comer) Close() error {
	c.closed = true
	return nil
}

// An address that fills the hall loses its own places, and takes none of other addresses.
func TestACrowdTakesNobodysPlace(t *testing.T) {
	var hall secure.Hall
	early := &comer{from: "10.0.0.1"}
	guest := hall.Enter(early)
	var crowd []*comer
	for range 2 * secure.HandshakesMax {
		c := &comer{from: "10.0.0.66"}
		crowd = append(crowd, c)
		hall.Enter(c)
	}
	late := &comer{from: "10.0.0.2"}
	last := hall.Enter(late)
	if guest.Leave() || early.closed || last.Leave() || late.closed {
		t.Error("a crowd at one address pushed out another address")
	}
	if n := hall.Len(); n != secure.HandshakesMax-2 {
		t.Errorf("%d in the hall", n)
	}
	for i, c := range crowd {
		if wants := i < len(crowd)-(secure.HandshakesMax-2); c.closed != wants {
			t.Fatalf("connection %d of the crowd: closed %v, want %v", i, c.closed, wants)
		}
	}
}
