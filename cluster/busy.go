package cluster

import (
	"fmt"
	"time"
)

// BusyError says what a call waited for. It is an ErrBusy: a read that did not run; or an
// ErrUnknown: a write that stands in the log behind it.
type BusyError struct {
	// Shard is where it waited, and Node the node that leads the shard.
	Shard uint32
	Node  string
	// What is what runs there: "script", "function" or "command", and its name; Ran for how long
	// it has run, or 0 if that is not known.
	What string
	Ran  time.Duration
	// Waited is for how long the call has waited.
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

// Unwrap says what became of the call.
func (e *BusyError) Unwrap() error {
	if e.Logged {
		return ErrUnknown
	}
	return ErrBusy
}
