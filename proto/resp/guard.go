// Package resp is the wire: it takes what clients send apart into whole,
// checked commands, and maps the errors of the floors below to RESP text.
//
// Guard stands between the socket and redcon's parser. redcon v1.6.2 by itself
// can be made to spin, to panic and to recurse without end by one client that
// is not even logged in; behind the guard it sees only whole commands whose
// every count and length was checked. The guard also does what redcon does
// not: Redis's limits and error texts, Redis's quoting of inline commands,
// deadlines for clients that stall within a command.
//
// Invariants:
//   - Memory grows with what has arrived, never with what is announced.
//   - No byte is looked at twice while a command is incomplete.
//   - Commands before a protocol error are passed on and answered first.
package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Limits are what a guard enforces.
type Limits struct {
	// BulkBytesMax is the longest argument (proto-max-bulk-len).
	BulkBytesMax int
	// QueryBytesMax bounds what is buffered for one client
	// (client-query-buffer-limit).
	QueryBytesMax int
	// StallTimeout is how long a client may send nothing within a command.
	StallTimeout time.Duration
	// IdleTimeout is how long it may send nothing between commands; 0: for ever.
	IdleTimeout time.Duration
}

const (
	// inlineBytesMax is the longest inline command, and the longest line that
	// announces a count (Redis's PROTO_INLINE_MAX_SIZE).
	inlineBytesMax = 64 << 10
	// argsMax is the greatest number of arguments (Redis's limit).
	argsMax = 1<<31 - 1
	// Of clients that are not logged in Redis takes no more than this.
	unauthArgsMax = 10
	unauthBulkMax = 16384
	// batchCommandsMax and batchBytesMax bound what Next returns at once.
	batchCommandsMax = 1024
	batchBytesMax    = 1 << 20
	readBytes        = 16 << 10
	// keptBytes is the size of an idle client's buffer that is worth keeping.
	keptBytes = 64 << 10
)

// ProtocolError is what a client is told before its connection is closed.
type ProtocolError string

// Error implements error.
func (e ProtocolError) Error() string { return string(e) }

func protocolError(format string, args ...any) error {
	return ProtocolError("ERR Protocol error: " + fmt.Sprintf(format, args...))
}

// ErrSecurity: the client speaks HTTP or the like; it is cut off without an
// answer, as Redis does.
var ErrSecurity = errors.New("possible cross-protocol attack")

// ErrQueryBuffer: more was sent than client-query-buffer-limit allows.
var ErrQueryBuffer = errors.New("query buffer limit")

// Guard reads whole commands from a connection.
type Guard struct {
	conn   net.Conn
	limits Limits
	authed bool

	// in holds what has arrived and was not given out; parsed bytes of it were
	// looked at, and the command at hand begins at begin.
	in            []byte
	begin, parsed int
	// frame is the state within a multibulk command.
	frame frame
	// out holds the whole commands found, as multibulk.
	out      []byte
	commands int
	err      error
	received int64
}

// frame is how far a multibulk command has come.
type frame struct {
	open     bool
	argsLeft int64
	// bulkLeft is what is missing of the current argument, line end included; -1:
	// its length was not read yet.
	bulkLeft int
}

// NewGuard returns a guard for a connection.
func NewGuard(conn net.Conn, limits Limits) *Guard {
	return &Guard{conn: conn, limits: limits}
}

// SetAuthenticated lifts the limits of clients that are not logged in.
func (g *Guard) SetAuthenticated(yes bool) { g.authed = yes }

// Received is the number of bytes that have arrived.
func (g *Guard) Received() int64 { return g.received }

// Buffered is the number of bytes the guard holds for its client.
func (g *Guard) Buffered() int { return cap(g.in) + cap(g.out) }

// Next returns one or more whole commands, in one buffer, as multibulk
// requests, and their number. It is valid until the next call. After a
// ProtocolError, which may come with commands before it in an earlier call, the
// connection must be closed.
func (g *Guard) Next() ([]byte, int, error) {
	g.recycle()
	for {
		if g.err == nil {
			g.err = g.parse()
		}
		if g.commands > 0 {
			return g.out, g.commands, nil
		}
		if g.err != nil {
			return nil, 0, g.err
		}
		if err := g.fill(); err != nil {
			return nil, 0, err
		}
	}
}

func (g *Guard) recycle() {
	g.commands = 0
	if cap(g.out) > keptBytes {
		g.out = nil
	}
	g.out = g.out[:0]
	if len(g.in) == 0 && cap(g.in) > keptBytes {
		g.in = nil
	}
}

// fill reads once from the connection.
func (g *Guard) fill() error {
	if len(g.in) > g.limits.QueryBytesMax {
		return ErrQueryBuffer
	}
	if err := g.conn.SetReadDeadline(g.deadline()); err != nil {
		return err
	}
	if cap(g.in)-len(g.in) < readBytes/2 {
		grown := make([]byte, len(g.in), max(2*cap(g.in), readBytes))
		copy(grown, g.in)
		g.in = grown
	}
	n, err := g.conn.Read(g.in[len(g.in):cap(g.in)])
	g.in = g.in[:len(g.in)+n]
	g.received += int64(n)
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

func (g *Guard) deadline() time.Time {
	wait := g.limits.IdleTimeout
	if len(g.in) > 0 {
		wait = g.limits.StallTimeout
	}
	if wait == 0 {
		return time.Time{}
	}
	return time.Now().Add(wait)
}

// parse moves whole commands from in to out.
func (g *Guard) parse() error {
	defer g.drop()
	for g.commands < batchCommandsMax && len(g.out) < batchBytesMax {
		if !g.frame.open {
			if g.begin = g.parsed; g.begin == len(g.in) {
				return nil
			}
		}
		whole, err := g.command()
		if err != nil || !whole {
			return err
		}
	}
	return nil
}

// drop forgets what was moved or skipped; of an open command all is kept.
func (g *Guard) drop() {
	if !g.frame.open {
		g.begin = g.parsed
	}
	if g.begin == 0 {
		return
	}
	rest := copy(g.in, g.in[g.begin:])
	g.in = g.in[:rest]
	g.parsed -= g.begin
	g.begin = 0
}

// command parses on in the command at hand; false: more bytes are needed.
func (g *Guard) command() (bool, error) {
	if !g.frame.open && g.in[g.parsed] != '*' {
		return g.inline()
	}
	if !g.frame.open {
		n, ok, err := g.number(argsMax, "too big mbulk count string", "invalid multibulk length")
		if !ok || err != nil {
			return false, err
		}
		if !g.authed && n > unauthArgsMax {
			return false, protocolError("unauthenticated multibulk length")
		}
		if n <= 0 {
			// Redis ignores an empty command.
			return true, nil
		}
		g.frame = frame{open: true, argsLeft: n, bulkLeft: -1}
	}
	for g.frame.argsLeft > 0 {
		ok, err := g.argument()
		if !ok || err != nil {
			return false, err
		}
	}
	g.out = append(g.out, g.in[g.begin:g.parsed]...)
	g.commands++
	g.frame.open = false
	return true, nil
}

// argument parses on in one argument.
func (g *Guard) argument() (bool, error) {
	if g.frame.bulkLeft < 0 {
		if g.parsed == len(g.in) {
			return false, nil
		}
		if c := g.in[g.parsed]; c != '$' {
			// Redis waits for the end of the line before it complains.
			if bytes.IndexByte(g.in[g.parsed:], '\r') < 0 {
				if len(g.in)-g.parsed > inlineBytesMax {
					return false, protocolError("too big bulk count string")
				}
				return false, nil
			}
			return false, protocolError("expected '$', got '%c'", printable(c))
		}
		n, ok, err := g.number(int64(g.limits.BulkBytesMax), "too big bulk count string", "invalid bulk length")
		if !ok || err != nil {
			return false, err
		}
		if n < 0 {
			return false, protocolError("invalid bulk length")
		}
		if !g.authed && n > unauthBulkMax {
			return false, protocolError("unauthenticated bulk length")
		}
		g.frame.bulkLeft = int(n) + 2
	}
	have := min(g.frame.bulkLeft, len(g.in)-g.parsed)
	g.parsed += have
	g.frame.bulkLeft -= have
	if g.frame.bulkLeft > 0 {
		return false, nil
	}
	// Redis does not look at the two bytes behind an argument; redcon does.
	g.in[g.parsed-2], g.in[g.parsed-1] = '\r', '\n'
	g.frame.argsLeft--
	g.frame.bulkLeft = -1
	return true, nil
}

func printable(c byte) byte {
	if c < ' ' || c > '~' {
		return '?'
	}
	return c
}

// number parses the line at hand: a letter, a decimal number, CRLF.
func (g *Guard) number(most int64, tooLong, invalid string) (int64, bool, error) {
	line := g.in[g.parsed:]
	end := bytes.IndexByte(line[:min(len(line), inlineBytesMax)], '\r')
	if end < 0 {
		if len(line) >= inlineBytesMax {
			return 0, false, protocolError("%s", tooLong)
		}
		return 0, false, nil
	}
	if end+1 >= len(line) {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(string(line[1:end]), 10, 64)
	if err != nil || n > most || !canonical(line[1:end]) {
		return 0, false, protocolError("%s", invalid)
	}
	line[end+1] = '\n'
	g.parsed += end + 2
	return n, true, nil
}

// canonical tells whether Redis's string2ll takes the number: no plus sign, no
// leading zeros.
func canonical(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
		return len(b) > 0 && b[0] >= '1'
	}
	return len(b) == 1 || (len(b) > 1 && b[0] >= '1')
}

// inline parses an inline command and passes it on as multibulk.
func (g *Guard) inline() (bool, error) {
	line := g.in[g.parsed:]
	end := bytes.IndexByte(line, '\n')
	if end < 0 {
		if len(line) > inlineBytesMax {
			return false, protocolError("too big inline request")
		}
		return false, nil
	}
	g.parsed += end + 1
	text := bytes.TrimSuffix(line[:end], []byte{'\r'})
	args, ok := SplitArgs(text)
	if !ok {
		return false, protocolError("unbalanced quotes in request")
	}
	if len(args) == 0 {
		return true, nil
	}
	if bytes.EqualFold(args[0], []byte("post")) || bytes.EqualFold(args[0], []byte("host:")) {
		return false, ErrSecurity
	}
	g.out = append(g.out, '*')
	g.out = strconv.AppendInt(g.out, int64(len(args)), 10)
	g.out = append(g.out, "\r\n"...)
	for _, a := range args {
		g.out = append(g.out, '$')
		g.out = strconv.AppendInt(g.out, int64(len(a)), 10)
		g.out = append(g.out, "\r\n"...)
		g.out = append(append(g.out, a...), "\r\n"...)
	}
	g.commands++
	return true, nil
}
