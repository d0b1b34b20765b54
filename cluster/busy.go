package cluster

import (
	"fmt"
	"time"
)

// BusyError says why a call waited for others. It is an ErrBusy for a read, which did not run, or
// an ErrUnknown for a write that is in the log behind the running work.
type BusyError struct {
	// Shard is the shard where the call waited, and Node the node that leads the shard.
	Shard uint32
	Node  string
	// What is "script", "function" or "command", and the name of what runs there. Ran is how long
	// it has run, or 0 if that is not known.
	What string
	Ran  time.Duration
	// Waited is how long the call has waited.
	Waited time.Duration
	// Logged is true if the call is a write that may be in the log.
	Logged bool
}

// Error implements error.
func (e *BusyError) Error() string {
	since := ""
	if e.Ran > 0 {
		since = fmt.Sprintf(" for %d ms", e.Ran.Milliseconds())
	}
	return fmt.Sprintf("%s has been running%s on shard %d (node %s); the command has waited for %d ms", e.What, since, e.Shard, e.Node, e.Waited.Milliseconds())
}

// Unwrap returns ErrUnknown for a write and ErrBusy for a read.
func (e *BusyError) Unwrap() error {
	if e.Logged {
		return ErrUnknown
	}
	return ErrBusy
}
