// Command clusterctl looks at and changes a Lockstep cluster, and runs a demo
// cluster on this machine. It speaks to any node through its client port.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
)

// quiet is a logger that says nothing: the client library reports every dial
// that fails, also those that the demo expects.
type quiet struct{}

// Printf implements the client library's logger.
func (quiet) Printf(context.Context, string, ...any) {}

func main() {
	redis.SetLogger(quiet{})
	err := newRoot().Execute()
	if err == nil {
		return
	}
	var exit exitCode
	if errors.As(err, &exit) {
		os.Exit(int(exit))
	}
	fmt.Fprintln(os.Stderr, "clusterctl:", err)
	os.Exit(exitFailure)
}

// Exit codes, for scripts.
const (
	exitDegraded = 1
	exitNoQuorum = 2
	exitFailure  = 3
)

// exitCode ends the program without a message.
type exitCode int

// Error implements error.
func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
