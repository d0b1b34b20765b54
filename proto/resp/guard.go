// Package resp is the wire protocol: it splits what clients send into whole, checked
// commands, holds replies that clients do not read yet, and turns the errors of the
// packages below into RESP text.
//
// Guard stands between the socket and redcon's parser. One client that is not even
// logged in can make redcon v1.6.2 spin, panic or recurse without end. Behind the guard
// redcon sees only whole commands whose every count and length was checked. The guard
// also does what redcon does not: Redis's limits and error texts, Redis's quoting of
// inline commands, deadlines for clients that stall, and bounds for clients that do not
// read.
//
// Invariants:
//   - Memory grows with the bytes received, never with announced lengths.
//   - No byte is scanned twice while a command is incomplete.
//   - Commands before a protocol error are passed on and answered first.
//   - The commands passed on are canonical: redcon's parser takes them unchanged.
package resp

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"lockstep/cluster/secret"
	"lockstep/ground/secure"
)

// Guard is a client's connection. One goroutine calls Next and Write in turn. Any goroutine
// may read the counts and call Close.
type Guard struct {
	net.Conn
	limits  func() Limits
	traffic *Traffic
	frames  framer
	out     output

	// encoded holds inline commands, passed on as arrays.
	encoded []byte
	// err is the protocol error that ends the connection, once the commands before it are
	// answered.
	err error
	// early is what arrived while the client was blocked (watch.go).
	early []byte
	// deadlineSet is true if the socket has a read deadline, allowed after it was set.
	deadlineSet bool
	allowed     time.Duration
	// inBytes, buffered and earlyBytes are for other goroutines to read.
	inBytes, buffered, earlyBytes atomic.Int64
}

// NewGuard returns a guard for a connection. It calls limits for each read and write that
// waits, because limits may change.
func NewGuard(conn net.Conn, limits func() Limits, traffic *Traffic) *Guard {
	g := &Guard{Conn: conn, limits: limits, traffic: traffic, frames: framer{bulkLeft: -1}}
	g.out.conn, g.out.limits, g.out.traffic = conn, limits, traffic
	if s, ok := conn.(*Sealed); ok {
		g.out.conn, g.out.seal = s.raw, s
	}
	if d, ok := g.out.conn.(directWriter); ok {
		g.out.direct = d
	} else if sc, ok := g.out.conn.(syscall.Conn); ok {
		g.out.raw, _ = sc.SyscallConn()
		g.out.try = g.out.tryOnce
	}
	return g
}

// SetAuthenticated reports whether the limits of clients that are not logged in
// are lifted. It belongs to the goroutine that calls Next.
func (g *Guard) SetAuthenticated(yes bool) { g.frames.authed = yes }

// Usage is the traffic and the buffers of a connection, for CLIENT LIST.
type Usage struct {
	// InBytes and OutBytes were received and sent. QueryBytes is the size of the buffer for
	// requests, WaitingBytes the size of replies that the client has yet to read.
	InBytes, OutBytes, QueryBytes, WaitingBytes int64
}

// Usage returns the current counts.
func (g *Guard) Usage() Usage {
	return Usage{g.inBytes.Load(), g.out.written.Load(), g.buffered.Load() + g.earlyBytes.Load(), g.out.waiting.Load()}
}

// Next returns one or more whole commands, as arrays of bulk strings in one buffer,
// and their number. The buffer is the caller's until the next call. After an error
// nothing follows. The caller reports a ProtocolError to the client.
func (g *Guard) Next() (data []byte, n int, err error) {
	for {
		if data, n = g.collect(); n > 0 {
			return data, n, nil
		}
		if g.err != nil {
			g.traffic.ProtocolErrors.Add(1)
			return nil, 0, g.err
		}
		if err := g.fill(g.read, true); err != nil && !g.mayRest(err) {
			return nil, 0, err
		}
	}
}

// mayRest reports whether an error is a timeout, and the client's limit has been raised meanwhile.
func (g *Guard) mayRest(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || len(g.frames.in) > 0 {
		return false
	}
	wait := g.limits().IdleTimeout
	return wait == 0 || wait > g.allowed
}

// TryReader is a connection that reads available input without waiting; poll.Conn
// is one.
type TryReader interface {
	TryRead(p []byte) (int, error)
}

// TryNext is the non-blocking form of Next, for a connection in a loop. It returns no
// commands where Next would wait, and ErrNothing of package poll if there is nothing more
// to read now.
func (g *Guard) TryNext(conn TryReader) (data []byte, n int, err error) {
	for read := false; ; read = true {
		if data, n = g.collect(); n > 0 {
			return data, n, nil
		}
		if g.err != nil {
			g.traffic.ProtocolErrors.Add(1)
			return nil, 0, g.err
		}
		if read {
			return nil, 0, nil
		}
		from := conn.TryRead
		if len(g.early) > 0 {
			from = g.read
		}
		if err := g.fill(from, false); err != nil {
			return nil, 0, err
		}
	}
}

// Buffered is how many received bytes have not been passed on.
func (g *Guard) Buffered() int { return len(g.frames.in) - g.frames.begin + len(g.early) }

// Within reports whether there are such bytes, or an error that Next has yet to return. The bytes
// are most likely a part of a command.
func (g *Guard) Within() bool { return g.Buffered() > 0 || g.err != nil }

// Filled reports whether the last read filled the buffer, so that there may be
// more.
func (g *Guard) Filled() bool { return len(g.frames.in) == cap(g.frames.in) || len(g.early) > 0 }

// collect gathers complete commands of one form, adjacent arrays or successive lines, up to a
// batch. If the client is not logged in, collect takes one command at a time, because that command
// may log the client in.
func (g *Guard) collect() (data []byte, n int) {
	f := &g.frames
	most := batchCommandsMax
	if !f.authed {
		most = 1
	}
	g.out.know(f.authed)
	bulkBytesMax := g.limits().BulkBytesMax
	begin, end := 0, 0
	g.encoded = g.encoded[:0]
	for n < most && end-begin+len(g.encoded) < batchBytesMax {
		if !f.whole {
			if g.err != nil {
				break
			}
			var ok bool
			if ok, g.err = f.parse(bulkBytesMax); !ok {
				break
			}
		}
		lines := len(g.encoded) > 0
		if n > 0 && (f.inline != lines || !lines && f.begin != end) {
			break
		}
		if f.inline {
			g.encoded = appendCommand(g.encoded, f.args)
		} else {
			if n == 0 {
				begin = f.begin
			}
			end = f.parsed
		}
		f.next()
		n++
	}
	if len(g.encoded) > 0 {
		return g.encoded, n
	}
	return f.in[begin:end], n
}

func appendCommand(dst []byte, args [][]byte) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(args)), 10)
	dst = append(dst, "\r\n"...)
	for _, a := range args {
		dst = append(dst, '$')
		dst = strconv.AppendInt(dst, int64(len(a)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(append(dst, a...), "\r\n"...)
	}
	return dst
}

// fill reads once from the socket. If waits is true the read may wait, and needs a deadline.
func (g *Guard) fill(read func([]byte) (int, error), waits bool) error {
	limits := g.limits()
	f := &g.frames
	f.compact()
	if cap(g.encoded) > keptBytes {
		g.encoded = nil
	}
	if int64(len(f.in)) > limits.QueryBytesMax {
		g.traffic.QueryClosed.Add(1)
		return ErrQueryBuffer
	}
	if waits {
		if err := g.setDeadline(&limits); err != nil {
			return err
		}
	}
	f.makeRoom(limits.QueryBytesMax)
	first := g.inBytes.Load() == 0
	n, err := read(f.in[len(f.in):cap(f.in)])
	f.in = f.in[:len(f.in)+n]
	g.inBytes.Add(int64(n))
	g.traffic.In.Add(uint64(n))
	g.traffic.Reads.Add(1)
	g.buffered.Store(int64(cap(f.in)))
	if first && g.out.seal == nil && secure.SpeaksTLS(f.in) {
		return ErrSpeaksTLS
	}
	if first && secret.SpeaksPeer(f.in) {
		return ErrSpeaksPeer
	}
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// Errors of clients that came to the wrong port.
var (
	// ErrSpeaksTLS means that a client speaks TLS where plain commands are
	// expected.
	ErrSpeaksTLS = errors.New("the client speaks TLS, and this port does not")
	// ErrSpeaksPeer means that another node takes this port for the peer port.
	ErrSpeaksPeer = errors.New("a node takes this port for the peer port")
)

// Secured reports whether the connection is under TLS.
func (g *Guard) Secured() bool { return g.out.seal != nil }

// read takes early input, or reads from the socket.
func (g *Guard) read(p []byte) (int, error) {
	if len(g.early) == 0 {
		return g.Conn.Read(p)
	}
	n := copy(p, g.early)
	if g.early = g.early[n:]; len(g.early) == 0 {
		g.early = nil
	}
	g.earlyBytes.Store(int64(cap(g.early)))
	return n, nil
}

// setDeadline bounds the next read: within a command by progress, between
// commands by idleness.
func (g *Guard) setDeadline(limits *Limits) error {
	wait := limits.IdleTimeout
	if len(g.frames.in) > 0 {
		wait = limits.StallTimeout
	}
	if wait == 0 {
		if !g.deadlineSet {
			return nil
		}
		g.deadlineSet = false
		return g.SetReadDeadline(time.Time{})
	}
	g.deadlineSet, g.allowed = true, wait
	return g.SetReadDeadline(time.Now().Add(wait))
}
