package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Redis's texts for a target that does not answer.
const (
	errTargetConnect = "IOERR error or timeout connecting to the client"
	errTargetWrite   = "IOERR error or timeout writing to target instance"
	errTargetRead    = "IOERR error or timeout reading to target instance"
)

// errNoTarget means that the replies of the other side are not those of a Redis
// server.
var errNoTarget = errors.New("the target does not speak Redis's protocol")

// target is a connection to the server that MIGRATE hands keys over to. Each step
// takes at most the timeout. After an error the connection must not be used any
// more.
type target struct {
	conn    net.Conn
	in      *bufio.Reader
	out     *bufio.Writer
	timeout time.Duration
	// detach unties the connection from the context that it was dialled with.
	detach func() bool
}

const (
	// targetLineMax bounds a line of a target's reply.
	targetLineMax = 4 << 10
	// targetChunk is how much is written within one timeout.
	targetChunk = 64 << 10
)

// dialTarget connects. The connection ends with ctx. refusal is the text of the
// reply if it could not connect.
func dialTarget(ctx context.Context, host, port string, timeout time.Duration, secure func(string) *tls.Config) (t *target, refusal string) {
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case host == "":
		return nil, errTargetConnect
	case err != nil:
		// Redis takes an invalid port as 0, where no server listens.
		return nil, errTargetWrite
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.FormatUint(number, 10)))
	if err != nil {
		return nil, dialRefusal(err)
	}
	if config := secure(host); config != nil {
		private := tls.Client(conn, config)
		if private.HandshakeContext(ctx) != nil {
			_ = conn.Close()
			return nil, errTargetConnect
		}
		conn = private
	}
	t = &target{conn: conn, in: bufio.NewReaderSize(conn, targetLineMax), timeout: timeout}
	t.out = bufio.NewWriterSize(patient{t}, targetChunk)
	return t, ""
}

// dialRefusal is Redis's error for a connection that could not be made: Redis
// notices it only when it writes.
func dialRefusal(err error) string {
	var unknown *net.DNSError
	var late net.Error
	if errors.As(err, &unknown) || errors.As(err, &late) && late.Timeout() {
		return errTargetConnect
	}
	return errTargetWrite
}

// tie closes the connection when ctx ends.
func (t *target) tie(ctx context.Context) {
	t.detach = context.AfterFunc(ctx, func() { _ = t.conn.Close() })
}

func (t *target) close() {
	t.detach()
	_ = t.conn.Close()
}

// patient writes in pieces, each within the timeout: a large value may take long as
// long as it makes progress.
type patient struct{ t *target }

// Write implements io.Writer.
func (p patient) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		_ = p.t.conn.SetWriteDeadline(time.Now().Add(p.t.timeout))
		var k int
		k, err = p.t.conn.Write(b[n:min(len(b), n+targetChunk)])
		n += k
	}
	return n, err
}

// send puts a command into the buffer. Errors show in flush.
func (t *target) send(args ...[]byte) {
	fmt.Fprintf(t.out, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(t.out, "$%d\r\n", len(a))
		_, _ = t.out.Write(a)
		_, _ = t.out.WriteString("\r\n")
	}
}

func (t *target) flush() error { return t.out.Flush() }

// reply reads the reply to one command: OK or an error, which is refusal. Any other
// reply is not that of a Redis server, and the outcome of the command is then
// unknown.
func (t *target) reply() (refusal string, err error) {
	_ = t.conn.SetReadDeadline(time.Now().Add(t.timeout))
	line, err := t.in.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	line = bytes.TrimRight(line, "\r\n")
	switch {
	case len(line) > 1 && line[0] == '-':
		return string(line[1:]), nil
	case string(line) == "+OK":
		return "", nil
	}
	return "", errNoTarget
}

// ask sends one command and reads its reply. problem is the text of MIGRATE's reply
// if that failed.
func (t *target) ask(args ...[]byte) (problem string) {
	t.send(args...)
	if t.flush() != nil {
		return errTargetWrite
	}
	switch refusal, err := t.reply(); {
	case err != nil:
		return errTargetRead
	case refusal != "":
		return targetSays(refusal)
	}
	return ""
}

// targetSays is the reply for an error of the target.
func targetSays(refusal string) string { return "ERR Target instance replied with error: " + refusal }
