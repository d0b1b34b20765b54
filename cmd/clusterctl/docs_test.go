package main

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write docs/clusterctl.md anew")

// docs/clusterctl.md is made from the commands themselves: `make docs`.
func TestDocumentationIsTheCommands(t *testing.T) {
	const path = "../../docs/clusterctl.md"
	want := reference(newRoot())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the commands say; run `make docs`", path)
	}
}
