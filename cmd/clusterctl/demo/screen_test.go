package demo

import (
	"fmt"
	"testing"

	"charm.land/lipgloss/v2"
)

func TestPartsStayWholeOnNarrowTerminals(t *testing.T) {
	for width, want := range map[int]string{
		0:  "  x  one · two · three\n",
		80: "  x  one · two · three\n",
		16: "  x  one · two\n     three\n",
		9:  "  x  one\n     two\n     three\n",
		1:  "  x  one\n     two\n     three\n",
	} {
		if got := (&screen{width: width}).parts("  x  ", "one", "two", "three"); got != want {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
	head := fmt.Sprintf(headForm, "NODE", "CLIENT", "ROLE", "TERM", "EXECUTED", "LAG", "KEYS", "OPS/S", "MEM")
	row := fmt.Sprintf(rowForm, "n1", "127.0.0.1:7001", "candidate", 10, 1000, 10, 4000, 5000, 100)
	if w := lipgloss.Width(row); w > 79 || w != lipgloss.Width(head) {
		t.Errorf("a row is %d columns wide, the heading %d", w, lipgloss.Width(head))
	}
}
