package resp

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Limits are the limits that a guard enforces.
type Limits struct {
	// BulkBytesMax is the longest argument (proto-max-bulk-len).
	BulkBytesMax int64
	// QueryBytesMax bounds the buffered bytes of a client's requests, and so one
	// command with all its arguments (client-query-buffer-limit).
	QueryBytesMax int64
	// StallTimeout is how long a client may send nothing within a command, and how
	// long it may read nothing of its waiting output.
	StallTimeout time.Duration
	// IdleTimeout is how long a client may send nothing between commands; 0 is for ever
	// (timeout).
	IdleTimeout time.Duration
	// A client is closed if more than OutputHardMax bytes wait for it, or more than
	// OutputSoftMax for longer than OutputSoftTime. 0 is no limit
	// (client-output-buffer-limit).
	OutputHardMax, OutputSoftMax int64
	OutputSoftTime               time.Duration
	// TogetherMax is how many bytes may wait for all clients together before
	// Traffic.Crowded is signalled; 0 is no limit (maxmemory-clients).
	TogetherMax int64
}

// DefaultLimits are the limits of a node without settings.
var DefaultLimits = Limits{
	BulkBytesMax:   64 << 20,
	QueryBytesMax:  128 << 20,
	StallTimeout:   30 * time.Second,
	OutputHardMax:  256 << 20,
	OutputSoftMax:  64 << 20,
	OutputSoftTime: time.Minute,
}

const (
	// inlineBytesMax is the longest inline command, and the longest line that
	// announces a count (Redis's PROTO_INLINE_MAX_SIZE).
	inlineBytesMax = 64 << 10
	// argsMax is the greatest number of arguments (Redis's too).
	argsMax = 1<<31 - 1
	// Limits of Redis for clients that are not logged in.
	unauthArgsMax = 10
	unauthBulkMax = 16 << 10
	// unauthOutputMax is how much may wait for such a client: the only reply that it gets is
	// that it must log in.
	unauthOutputMax = 16 << 10
	// batchCommandsMax and batchBytesMax bound what Next returns at once.
	batchCommandsMax = 1024
	batchBytesMax    = 1 << 20
	// readBytesMin is the least room for a read.
	readBytesMin = 4 << 10
	// keptBytes is the size of an idle client's buffer that is worth keeping.
	keptBytes = 64 << 10
)

// Traffic counts what clients sent and received.
type Traffic struct {
	// In and Out are bytes on the wire.
	In, Out atomic.Uint64
	// Reads and Writes count how often a socket was read and written.
	Reads, Writes atomic.Uint64
	// ProtocolErrors counts clients closed for invalid input, QueryClosed those
	// closed for too large requests, and OutputClosed those closed for too much
	// unread output.
	ProtocolErrors, QueryClosed, OutputClosed atomic.Uint64
	// Waiting is the number of bytes that wait for all clients together. Crowded is
	// sent to, without waiting, when they become more than Limits.TogetherMax.
	Waiting atomic.Int64
	Crowded chan struct{}
	// Cut, unless nil, is called for a client that was closed because it did not read
	// (ErrOutputBuffer, ErrStalled), with the number of bytes that waited. Set it before
	// there are clients.
	Cut func(from net.Addr, waiting int64, why error)
}

// judge signals Crowded when too much waits for all clients together.
func (t *Traffic) judge(limits *Limits) {
	if limits.TogetherMax <= 0 || t.Waiting.Load() < limits.TogetherMax {
		return
	}
	select {
	case t.Crowded <- struct{}{}:
	default:
	}
}

// ProtocolError is the last reply to a client before its connection is closed.
type ProtocolError string

// Error implements error.
func (e ProtocolError) Error() string { return string(e) }

func protocolError(format string, args ...any) error {
	return ProtocolError("ERR Protocol error: " + fmt.Sprintf(format, args...))
}

// Reasons to close a connection without a reply, as Redis does.
var (
	// ErrQueryBuffer means that the client sent more than client-query-buffer-limit
	// allows.
	ErrQueryBuffer = errors.New("resp: the query buffer limit is exceeded")
	// ErrOutputBuffer means that the client does not read its replies.
	ErrOutputBuffer = errors.New("resp: the output buffer limit is exceeded")
	// ErrStalled means that the client has read nothing of its waiting replies for
	// too long.
	ErrStalled = errors.New("resp: the client reads nothing of what waits for it")
)
