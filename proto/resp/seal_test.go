package resp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/certs"
)

// sealedPair is a guard under TLS, and its client.
func sealedPair(t *testing.T, limits Limits) (*Guard, *tls.Conn, *Traffic) {
	t.Helper()
	a := certs.NewAuthority(t, "own")
	p := a.Issue(certs.Wish{})
	serving := certs.ClientTLS(t, &p, a)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	sealed := Seal(in, serving)
	dialling := certs.ClientTLS(t, nil, a)
	dialling.ServerName = "localhost"
	client := tls.Client(raw, dialling)
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	if err := errors.Join(sealed.Handshake(), <-shaken); err != nil {
		t.Fatal(err)
	}
	sealed.Begin()
	t.Cleanup(func() { sealed.Close(); raw.Close() })
	traffic := &Traffic{}
	return NewGuard(sealed, func() Limits { return limits }, traffic), client, traffic
}

// Replies are encrypted and go out with one write, in order. The connection ends with the message
// of TLS for that.
func TestSealedRepliesAreOneWrite(t *testing.T) {
	g, client, traffic := sealedPair(t, DefaultLimits)
	replies := strings.Repeat("+OK\r\n", 10_000)
	if _, err := g.Write([]byte(replies)); err != nil {
		t.Fatal(err)
	}
	if n := traffic.Writes.Load(); n != 1 {
		t.Errorf("%d writes", n)
	}
	if _, err := g.WriteLater([]byte("+later\r\n")); err != nil {
		t.Fatal(err)
	}
	g.Flush(time.Minute)
	if _, err := g.Write([]byte("+behind\r\n")); err != nil {
		t.Errorf("nothing can be written behind Flush: %v", err)
	}
	g.Finish(time.Minute)
	g.Close()
	got, err := io.ReadAll(client)
	if string(got) != replies+"+later\r\n+behind\r\n" || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A client under TLS that does not read is closed at the limit, and holds up no other client.
func TestSealedOutputIsBounded(t *testing.T) {
	limits := DefaultLimits
	limits.OutputHardMax, limits.OutputSoftMax = 1<<20, 0
	g, _, _ := sealedPair(t, limits)
	reply := make([]byte, 1<<20)
	for range 64 {
		if _, err := g.Write(reply); err != nil {
			if !errors.Is(err, ErrOutputBuffer) {
				t.Error(err)
			}
			return
		}
	}
	t.Error("64 MB wait for a client that does not read")
}
