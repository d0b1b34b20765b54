package command

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// oracle is a redis-server of the package that a test compares with.
type oracle struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// startOracle starts a redis-server that ends with the test.
func startOracle(t testing.TB) *oracle {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("NOT COMPARED: redis-server is not installed (apt-get install redis-server)")
	}
	socket := filepath.Join(t.TempDir(), "redis.sock")
	cmd := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
		"--enable-debug-command", "yes", "--rdbcompression", "no", "--dir", filepath.Dir(socket))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Kill)
		cmd.Wait()
	})
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			return &oracle{t: t, conn: conn, in: bufio.NewReaderSize(conn, 1<<20)}
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not answer: %v", err)
		}
	}
}

// exec runs a command and returns the bytes of its reply.
func (o *oracle) exec(args ...[]byte) []byte {
	o.t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	o.conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := o.conn.Write(b.Bytes()); err != nil {
		o.t.Fatal(err)
	}
	raw, err := readReply(nil, o.in)
	if err != nil {
		o.t.Fatalf("reply to %q: %v", args, err)
	}
	return raw
}

func (o *oracle) do(line string) string { return flat(o.exec(words(line)...)) }

// readReply appends the bytes of one reply.
func readReply(dst []byte, in *bufio.Reader) ([]byte, error) {
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
		if dst, err = readReply(dst, in); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func wallMs() int64 { return time.Now().UnixMilli() }
