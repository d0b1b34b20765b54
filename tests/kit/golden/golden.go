// Package golden compares a generated file with the text from which it should be generated, for the
// tests of the generators. With -update it writes the file; make docs does that for all of them.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write what is generated anew")

// Check fails the test if the file does not contain text.
func Check(t testing.TB, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Errorf("%s is not what it is generated from: run `make docs`", filepath.Base(path))
	}
}
