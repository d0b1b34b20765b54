package main

import (
	"strings"
	"testing"
)

func TestWhatDidNotRunStays(t *testing.T) {
	old := "\n\nthe machine\n\n### one-node\n\nold one\n\n### reads\n\nold reads\n\nwith a note\n\n### gone\n\nnobody's\n"
	got := mergeSections(old, []section{{"memory", "new memory\n"}, {"one-node", "\nnew one\n\n\n"}})
	want := "### one-node\n\nnew one\n\n### reads\n\nold reads\n\nwith a note\n\n### memory\n\nnew memory\n\n"
	if got != want {
		t.Errorf("%q", got)
	}
}

// Prose is broken where a line is too long; a row of a table is not.
func TestLongLinesAreBroken(t *testing.T) {
	word := strings.Repeat("w", 50)
	row := "| " + strings.Repeat("x", 200) + " |"
	got := wrapped("short\n\n" + strings.Join([]string{word, word, word, "end"}, " ") + "\n" + row)
	want := "short\n\n" + word + " " + word + "\n" + word + " end\n" + row
	if got != want {
		t.Errorf("%q", got)
	}
}
