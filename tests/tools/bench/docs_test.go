package main

import "testing"

func TestWhatDidNotRunStays(t *testing.T) {
	old := "\n\nthe machine\n\n### one-node\n\nold one\n\n### reads\n\nold reads\n\nwith a note\n\n### gone\n\nnobody's\n"
	got := mergeSections(old, []section{{"memory", "new memory\n"}, {"one-node", "\nnew one\n\n\n"}})
	want := "### one-node\n\nnew one\n\n### reads\n\nold reads\n\nwith a note\n\n### memory\n\nnew memory\n\n"
	if got != want {
		t.Errorf("%q", got)
	}
}
