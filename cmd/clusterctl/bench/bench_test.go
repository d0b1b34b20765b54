package bench

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// dying is a server that says OK to every SET, and dies so long behind the first; died
// tells when.
func dying(t *testing.T, after time.Duration) (addr string, died func() time.Time) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := make(chan struct{})
	var at time.Time
	die := sync.OnceFunc(func() { time.AfterFunc(after, func() { at = time.Now(); close(dead); l.Close() }) })
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
	return l.Addr().String(), func() time.Time { <-dead; return at }
}

// A pause that nobody has seen the end of is told.
func TestAPauseThatLastsToTheEndIsTold(t *testing.T) {
	const lives, length = 100 * time.Millisecond, 2 * time.Second
	addr, died := dying(t, lives)
	r, err := Run(t.Context(), Options{Addrs: []string{addr}, Clients: 2, Length: length, Keys: 1, ValueBytes: 1})
	if err != nil || r.Calls == 0 || r.Broken == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	// The rest is for a machine that does other things, too: a client may see late what
	// was answered.
	if silent := time.Since(died()); r.LongestPauseMs < float64((silent / 4).Milliseconds()) {
		t.Errorf("the longest pause is %.0f ms, and the server was dead for %v", r.LongestPauseMs, silent)
	}
}
