// Package standin is a server that replaces a node or a redis-server in a test. The test decides
// the reply to each command; the server itself knows no commands.
package standin

import (
	"net"
	"sync"
	"testing"

	"github.com/tidwall/redcon"
)

// Serve answers commands with raw RESP, one at a time for all connections together, and returns the
// server's address. The server ends with the test.
func Serve(t testing.TB, answer func(args []string) string) (addr string) {
	t.Helper()
	var mu sync.Mutex
	return Listen(t, func(conn redcon.Conn, cmd redcon.Command) {
		args := make([]string, len(cmd.Args))
		for i, arg := range cmd.Args {
			args[i] = string(arg)
		}
		mu.Lock()
		defer mu.Unlock()
		conn.WriteRaw([]byte(answer(args)))
	})
}

// Listen is Serve for a test that handles connections itself.
func Listen(t testing.TB, handle func(conn redcon.Conn, cmd redcon.Command)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := redcon.NewServer("", handle, func(redcon.Conn) bool { return true }, func(redcon.Conn, error) {})
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
