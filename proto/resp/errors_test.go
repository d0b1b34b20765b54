package resp

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"lockstep/cluster"
)

// Every error of the cluster stands in docs/troubleshooting.md, with what became
// of the command: a person who meets one looks there.
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
