// Command clusterctl shows and changes a Lockstep cluster, and runs a demo cluster
// on this machine. It talks to any node through its client port.
//
// Each verb has a file; nodes, shards and slots share views.go. A verb prints its
// result to standard output, as text or, with -o json, as one JSON document.
// Questions, progress and errors go to standard error. Verbs that destroy something
// ask at a terminal, and need --yes without one. docs/clusterctl.md is generated
// from these commands.
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

// quiet is a logger that logs nothing: the client library reports every failed dial, even those
// that the demo expects.
type quiet struct{}

// Printf implements the client library's logger.
func (quiet) Printf(context.Context, string, ...any) {}

func main() {
	redis.SetLogger(quiet{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second interrupt ends the program at once.
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
const exitHelp = `Exit codes:

  0  done, or the cluster is healthy
  1  the cluster is degraded, or the doctor found something
  2  no quorum, or no node answers
  3  a mistake in the command line, or a failure before anything was done
  4  refused by the cluster, or not confirmed: nothing was done
  5  ordered, but the end was not seen`

// exitCode is an error that ends the program without a message.
type exitCode int

// Error implements error.
func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// refused is an error of a verb that has changed nothing.
type refused struct{ error }

// Unwrap implements the interface of package errors.
func (r refused) Unwrap() error { return r.error }

// uncertain is an error of a verb whose order may still be under way.
type uncertain struct{ error }

// Unwrap implements the interface of package errors.
func (u uncertain) Unwrap() error { return u.error }

// inWords is the text of an error. If a node asks for a password, it also says how
// to give one.
func inWords(err error) string {
	text := err.Error()
	if isReply(err) && (strings.HasPrefix(text, "NOAUTH") || strings.HasPrefix(text, "WRONGPASS")) {
		return text + " Give the nodes' password: --password, or LOCKSTEP_PASSWORD."
	}
	return text
}

// end prints what went wrong and returns the exit code.
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
