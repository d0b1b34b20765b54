// Command clusterctl looks at and changes a Lockstep cluster, and runs a demo
// cluster on this machine. It speaks to any node through its client port.
//
// Each verb has a file. What a verb prints goes to standard output, as text or,
// with -o json, as one JSON document; questions, progress and errors go to
// standard error. Verbs that destroy something ask at a terminal, and need
// --yes where there is none. docs/clusterctl.md is made from these commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// quiet is a logger that says nothing: the client library reports every dial
// that fails, also those that the demo expects.
type quiet struct{}

// Printf implements the client library's logger.
func (quiet) Printf(context.Context, string, ...any) {}

func main() {
	redis.SetLogger(quiet{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Who interrupts it once more does not want to wait for its end.
	context.AfterFunc(ctx, stop)
	err := newRoot().ExecuteContext(ctx)
	stop()
	os.Exit(end(err))
}

// Exit codes, for scripts.
const (
	exitDegraded  = 1
	exitNoQuorum  = 2
	exitFailure   = 3
	exitRefused   = 4
	exitUncertain = 5
)

// exitHelp explains them.
const exitHelp = `Exit codes: 0 done, or healthy; 1 degraded, or the doctor found something;
2 no quorum, or no node answers; 3 a mistake in the command line, or a failure
before anything was done; 4 refused, by the cluster or for want of a yes:
nothing was done; 5 ordered, but not seen to its end.`

// exitCode ends the program without a message.
type exitCode int

// Error implements error.
func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// refused is an error after which nothing has been done.
type refused struct{ error }

// Unwrap implements the interface of package errors.
func (r refused) Unwrap() error { return r.error }

// uncertain is an error after which something may be under way.
type uncertain struct{ error }

// Unwrap implements the interface of package errors.
func (u uncertain) Unwrap() error { return u.error }

// inWords is the error, and what to do where only the reply of a node that asks
// for a password stands there.
func inWords(err error) string {
	text := err.Error()
	if isReply(err) && (strings.HasPrefix(text, "NOAUTH") || strings.HasPrefix(text, "WRONGPASS")) {
		return text + " Give the nodes' password: --password, or LOCKSTEP_PASSWORD."
	}
	return text
}

// end says what went wrong and returns the exit code.
func end(err error) int {
	var exit exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintln(os.Stderr, "clusterctl:", inWords(err))
	switch {
	case errors.As(err, new(uncertain)), isReply(err) && strings.Contains(err.Error(), "INDETERMINATE "):
		return exitUncertain
	case errors.As(err, new(refused)), isReply(err):
		return exitRefused
	case errors.Is(err, context.Canceled):
		return exitFailure
	case errors.Is(err, errNoAnswer):
		return exitNoQuorum
	}
	return exitFailure
}
