// Package oracle runs a redis-server on a socket of its own, for tests that compare the replies of
// a package with those of Redis, byte for byte.
package oracle

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is a connection to a redis-server that ends with the test.
type Server struct {
	t      testing.TB
	conn   net.Conn
	in     *bufio.Reader
	socket string
}

const (
	startPatience = 2 * time.Minute
	replyPatience = time.Minute
)

// Start starts a redis-server that keeps nothing on disk and removes expired keys quickly. If no
// redis-server is installed, the test is skipped with a message.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartWith(t, "--save", "", "--appendonly", "no", "--enable-debug-command", "yes", "--hz", "500", "--rdbcompression", "no")
}

// StartWith is Start with other directives, in addition to those for its socket and its folder.
func StartWith(t testing.TB, directives ...string) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("SKIPPED: redis-server is not installed (apt-get install redis-server)")
	}
	socket := filepath.Join(t.TempDir(), "redis.sock")
	cmd := exec.Command(path, append([]string{"--port", "0", "--unixsocket", socket, "--dir", filepath.Dir(socket)}, directives...)...)
	// The server ends with the test binary, even if that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(startPatience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		s, err := dial(t, socket)
		if err == nil {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not answer: %v", err)
		}
	}
}

func dial(t testing.TB, socket string) (*Server, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Server{t: t, conn: conn, in: bufio.NewReaderSize(conn, 1<<20), socket: socket}, nil
}

// Another opens another connection.
func (s *Server) Another() *Server {
	s.t.Helper()
	other, err := dial(s.t, s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	return other
}

// Read returns the bytes of a reply or a message.
func (s *Server) Read() []byte {
	s.t.Helper()
	_ = s.conn.SetReadDeadline(time.Now().Add(replyPatience))
	raw, err := ReadReply(nil, s.in)
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// Exec runs a command and returns the bytes of its reply.
func (s *Server) Exec(args ...[]byte) []byte {
	s.t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(replyPatience))
	if _, err := s.conn.Write(b.Bytes()); err != nil {
		s.t.Fatalf("%.200q: %v", args, err)
	}
	return s.Read()
}

// ReadReply appends the bytes of one reply.
func ReadReply(dst []byte, in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	dst = append(dst, line...)
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return dst, nil
		}
		at := len(dst)
		dst = append(dst, make([]byte, n+2)...)
		_, err := io.ReadFull(in, dst[at:])
		return dst, err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return dst, nil
	}
	for range n {
		if dst, err = ReadReply(dst, in); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
