package main

import (
	"errors"
	"fmt"
	"testing"
)

// answer is an error reply of a node.
type answer string

// Error implements error.
func (a answer) Error() string { return string(a) }

// RedisError implements redis.Error.
func (answer) RedisError() {}

// If a node may have begun the work, the exit code never says that it was refused.
func TestExitCodesTellWhetherSomethingWasDone(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{exitCode(exitDegraded), exitDegraded},
		{fmt.Errorf("%w (here: refused)", errNoAnswer), exitNoQuorum},
		{errors.New("--to is missing"), exitFailure},
		{answer("NOAUTH Authentication required."), exitRefused},
		{fmt.Errorf("a: %w", answer("ERR no such node")), exitRefused},
		{answer("INDETERMINATE it may have been done"), exitUncertain},
		{fmt.Errorf("a: %w", answer("INDETERMINATE it may have been done")), exitUncertain},
		{uncertain{answer("ERR no such node")}, exitUncertain},
		{refused{errNoAnswer}, exitRefused},
	} {
		if got := end(c.err); got != c.code {
			t.Errorf("%v: exit %d, not %d", c.err, got, c.code)
		}
	}
}
