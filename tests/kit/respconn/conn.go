// Package respconn is a Redis connection for tests that look at bytes. It sends the bytes that it
// is given, whole commands or parts of them, and keeps the exact bytes of each reply next to their
// meaning. It never retries, never reconnects, and knows no commands.
package respconn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// DefaultPatience is how long a reply may take, unless Conn.Patience says otherwise. It is long
// because tests share a machine with others.
const DefaultPatience = 90 * time.Second

// Conn is one connection. One goroutine may write while another reads.
type Conn struct {
	// Patience bounds each write and each reply.
	Patience time.Duration

	conn net.Conn
	in   *bufio.Reader
}

// Dial connects to a server.
func Dial(addr string) (*Conn, error) { return DialTimeout(addr, DefaultPatience) }

// DialTimeout is Dial with a time limit for connecting.
func DialTimeout(addr string, patience time.Duration) (*Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return New(conn), nil
}

// New uses an existing connection.
func New(conn net.Conn) *Conn {
	return &Conn{Patience: DefaultPatience, conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// Close closes the connection.
func (c *Conn) Close() { _ = c.conn.Close() }

// Net is the underlying connection. A read from it may miss bytes that are buffered here.
func (c *Conn) Net() net.Conn { return c.conn }

// Write sends the bytes unchanged.
func (c *Conn) Write(raw []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.Patience)); err != nil {
		return err
	}
	_, err := c.conn.Write(raw)
	return err
}

// Send sends one command and reads nothing.
func (c *Conn) Send(args ...string) error { return c.Write(Command(args...)) }

// Do sends one command and reads one reply. An error reply is a value, not an
// error.
func (c *Conn) Do(args ...string) (Value, error) {
	if err := c.Send(args...); err != nil {
		return Value{}, err
	}
	return c.Read()
}

// Pipeline sends the commands in one write and then reads their replies.
func (c *Conn) Pipeline(commands ...[]string) ([]Value, error) {
	var raw []byte
	for _, args := range commands {
		raw = AppendCommand(raw, args...)
	}
	sent := make(chan error, 1)
	go func() { sent <- c.Write(raw) }()
	replies := make([]Value, 0, len(commands))
	for range commands {
		v, err := c.Read()
		if err != nil {
			return replies, err
		}
		replies = append(replies, v)
	}
	return replies, <-sent
}

// Read reads one reply.
func (c *Conn) Read() (Value, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(c.Patience)); err != nil {
		return Value{}, err
	}
	return Parse(c.in)
}

// ReadToEnd reads replies until the server closes the connection. It is an
// error if the server does not, or closes within a reply.
func (c *Conn) ReadToEnd() ([]Value, error) {
	var all []Value
	for {
		v, err := c.Read()
		if errors.Is(err, io.EOF) || isReset(err) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
}

// isReset reports whether the peer closed the connection while it had unread bytes, which this side
// sees as a reset.
func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// Command is the bytes of a command, as an array of bulk strings.
func Command(args ...string) []byte { return AppendCommand(nil, args...) }

// AppendCommand appends the bytes of a command.
func AppendCommand(dst []byte, args ...string) []byte {
	dst = strconv.AppendInt(append(dst, '*'), int64(len(args)), 10)
	dst = append(dst, "\r\n"...)
	for _, a := range args {
		dst = strconv.AppendInt(append(dst, '$'), int64(len(a)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(dst, a...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// ErrProtocol means that the bytes are not valid RESP.
var ErrProtocol = errors.New("no RESP")

func protocolError(line []byte) error { return fmt.Errorf("%w: %q", ErrProtocol, line) }
