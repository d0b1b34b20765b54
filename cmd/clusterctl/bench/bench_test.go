package bench

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// dying is a server that answers OK to every SET, and dies some time after the first one. died
// returns when.
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
			answer := "-ERR unknown command\r\n" // to the first commands of the client library
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

// A pause that lasts until the end of the run is reported.
func TestAPauseThatLastsToTheEndIsTold(t *testing.T) {
	const lives, length = 100 * time.Millisecond, 2 * time.Second
	addr, died := dying(t, lives)
	r, err := Run(t.Context(), Options{Addrs: []string{addr}, Clients: 2, Length: length, Keys: 1, ValueBytes: 1})
	if err != nil || r.Calls == 0 || r.Broken == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	// The tolerance is for a busy machine: a client may notice an answer late.
	if silent := time.Since(died()); r.LongestPauseMs < float64((silent / 4).Milliseconds()) {
		t.Errorf("the longest pause is %.0f ms, and the server was dead for %v", r.LongestPauseMs, silent)
	}
}
