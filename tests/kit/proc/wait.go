package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// pollEvery is the minimum time between two checks.
	pollEvery = 20 * time.Millisecond
	// pollPauseMax bounds the pause after a slow check. A check takes processor time from the
	// processes under test, so the pause is as long as the check before it took.
	pollPauseMax = 250 * time.Millisecond
)

// Poll checks the condition until it holds, and reports whether it did before the patience ran out.
func Poll(patience time.Duration, condition func() bool) bool {
	deadline := time.Now().Add(patience)
	for {
		began := time.Now()
		if condition() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		took := time.Since(began)
		<-time.After(max(pollEvery-took, min(took, pollPauseMax)))
	}
}

// Wait is Poll, but ends the test if the condition never holds. what describes the condition.
func Wait(t testing.TB, patience time.Duration, what string, condition func() bool) {
	t.Helper()
	if !Poll(patience, condition) {
		t.Fatalf("waited %v in vain: %s", patience, what)
	}
}

// Skip skips the test and adds a line to the file that LOCKSTEP_SKIPPED names, because go test
// prints nothing about a package that passes.
func Skip(t testing.TB, why string) {
	t.Helper()
	said := fmt.Sprintf("SKIPPED: %s: %s", t.Name(), why)
	if path := os.Getenv("LOCKSTEP_SKIPPED"); path != "" {
		if err := appendLine(path, said); err != nil {
			t.Error(err)
		}
	}
	t.Skip(said)
}

// appendLine appends one line to a file in a single write, because other processes append too.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.ReplaceAll(line, "\n", " ") + "\n")
	return errors.Join(err, f.Close())
}

// NeedProcesses skips a test that starts processes if the tests run with -short.
func NeedProcesses(t testing.TB) {
	t.Helper()
	if testing.Short() {
		Skip(t, "-short: no processes")
	}
}

// Long reports whether tests may take minutes, which is too long for CI.
func Long() bool { return os.Getenv("LOCKSTEP_LONG") != "" }

// Seed is the seed of a random test: LOCKSTEP_SEED, to repeat a run, or else the usual one. It is
// printed.
func Seed(t testing.TB, usual uint64) uint64 {
	t.Helper()
	seed := usual
	if text := os.Getenv("LOCKSTEP_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("LOCKSTEP_SEED=%d", seed)
	return seed
}
