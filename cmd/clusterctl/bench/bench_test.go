package bench

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// dying is a server that says OK to every SET, and dies so long behind the first.
func dying(t *testing.T, after time.Duration) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := make(chan struct{})
	die := sync.OnceFunc(func() { time.AfterFunc(after, func() { close(dead); l.Close() }) })
	t.Cleanup(func() { l.Close() })
	serve := func(c net.Conn) {
		defer c.Close()
		go func() { <-dead; c.Close() }()
		for buf := make([]byte, 4096); ; {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			said := "\r\n" + strings.ToUpper(string(buf[:n]))
			answer := "-ERR unknown command\r\n" // what the client library begins with
			if strings.Contains(said, "\r\nSET\r\n") {
				answer = "+OK\r\n"
				die()
			}
			if _, err := io.WriteString(c, strings.Repeat(answer, strings.Count(said, "\r\n*"))); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// A pause that nobody has seen the end of is told.
func TestAPauseThatLastsToTheEndIsTold(t *testing.T) {
	const lives, length = 100 * time.Millisecond, 2 * time.Second
	r, err := Run(t.Context(), Options{Addrs: []string{dying(t, lives)}, Clients: 2, Length: length, Keys: 1, ValueBytes: 1})
	if err != nil || r.Calls == 0 || r.Broken == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	// The other half is for a machine that does other things, too.
	if least := float64((length / 2).Milliseconds()); r.LongestPauseMs < least {
		t.Errorf("the longest pause is %.0f ms of %v, in which the server lived for %v", r.LongestPauseMs, length, lives)
	}
}
