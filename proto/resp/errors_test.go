package resp

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockstep/cluster"
)

// docs/troubleshooting.md lists every error of the cluster and says whether the command ran,
// because a person who meets an error looks there.
func TestErrorsAreExplained(t *testing.T) {
	data, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(string(data), -1)
	ran := map[string]string{}
	for _, row := range rows {
		ran[row[1]] = strings.TrimSpace(row[2])
	}
	for _, e := range errorTexts {
		said, there := ran[e.text]
		if !there {
			t.Errorf("%q is not explained", e.text)
			continue
		}
		if (said == "no") != e.notExecuted {
			t.Errorf("%q: the page says that it ran: %q", e.text, said)
		}
		if NotExecuted(e.err) != e.notExecuted || ErrorText(e.err) != e.text && !errors.Is(e.err, cluster.ErrNotLeader) {
			t.Errorf("%v is answered %q", e.err, ErrorText(e.err))
		}
	}
}

func TestAnUnknownErrorIsIndeterminate(t *testing.T) {
	err := errors.New("something")
	if text := ErrorText(err); text != "INDETERMINATE something" || NotExecuted(err) {
		t.Errorf("it is answered %q", text)
	}
}

// An error text ends with what the command has waited for.
func TestWhatRunsStandsBehind(t *testing.T) {
	busy := cluster.BusyError{Shard: 2, Node: "n1", What: "script 5332", Ran: 840 * time.Millisecond, Waited: 5 * time.Second}
	const behind = ": script 5332 has been running for 840 ms on shard 2 (node n1); the command has waited for 5000 ms"
	if got, want := ErrorText(&busy), "BUSY others hold the keys; the command was not executed"+behind; got != want || !NotExecuted(&busy) {
		t.Errorf("a read is answered %q, want %q", got, want)
	}
	busy.Logged = true
	if got, want := ErrorText(&busy), "INDETERMINATE the command may or may not have been executed"+behind; got != want || NotExecuted(&busy) {
		t.Errorf("a write is answered %q, want %q", got, want)
	}
	busy.Ran = 0
	if got := ErrorText(&busy); !strings.Contains(got, "script 5332 has been running on shard 2") {
		t.Errorf("without a time %q", got)
	}
}
