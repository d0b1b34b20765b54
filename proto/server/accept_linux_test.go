package server_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"lockstep/proto/server"
	"lockstep/tests/kit/ports"
)

// A port is tried again and again. A client that connects meanwhile gets no answer: a connection
// would be reset.
func TestNobodyIsLetInWhereAPortIsTried(t *testing.T) {
	const asks = 20
	addr := ports.FreeAddr(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var unheard net.Error
		for n := 0; n < asks; {
			conn, err := net.DialTimeout("tcp", addr, 10*time.Millisecond)
			if err == nil {
				t.Error("somebody was let in")
				conn.Close()
				return
			}
			if errors.As(err, &unheard) && unheard.Timeout() {
				n++
			}
		}
	}()
	for asking := true; asking; {
		if err := server.Try(addr); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			asking = false
		default:
		}
	}
	l, err := server.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := server.Try(addr); err == nil {
		t.Error("a port that is taken can be listened on")
	}
}
