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
	// pollEvery is the least time from one question to the next.
	pollEvery = 20 * time.Millisecond
	// pollPauseMax bounds the pause behind a question that took long. To ask costs the
	// processor time that what is waited for wants, so a pause is as long as the
	// question before it took.
	pollPauseMax = 250 * time.Millisecond
)

// Poll asks the condition until it holds, and reports whether it did so before
// the patience ran out.
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

// Wait is Poll, and the end of the test if the condition never holds. what
// says what was waited for.
func Wait(t testing.TB, patience time.Duration, what string, condition func() bool) {
	t.Helper()
	if !Poll(patience, condition) {
		t.Fatalf("waited %v in vain: %s", patience, what)
	}
}

// Skip skips the test so that nobody overlooks it: it is said in the file that
// LOCKSTEP_SKIPPED names, too, for go test is silent about a package that passes.
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

// appendLine adds one line to a file, whole: others add theirs.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.ReplaceAll(line, "\n", " ") + "\n")
	return errors.Join(err, f.Close())
}

// NeedProcesses skips a test under -short: it starts processes.
func NeedProcesses(t testing.TB) {
	t.Helper()
	if testing.Short() {
		Skip(t, "-short: no processes")
	}
}

// Long reports whether tests are to take minutes, for more than CI has time for.
func Long() bool { return os.Getenv("LOCKSTEP_LONG") != "" }

// Seed is that of a test that draws by chance: LOCKSTEP_SEED, to do again what was
// done, or else the usual one. It is printed.
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
