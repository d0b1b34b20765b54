package chart

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestNothingChangesUnseen holds each set of values against what it rendered
// before; -update writes it anew, for a person to read the difference.
func TestNothingChangesUnseen(t *testing.T) {
	for name, values := range valueSets(t) {
		r := must(t, "demo", values)
		var b strings.Builder
		for _, o := range r.objects {
			b.WriteString("---\n" + strings.TrimSpace(strings.TrimPrefix(o.text, "\n---")) + "\n")
		}
		b.WriteString("--- NOTES\n" + strings.TrimSpace(r.notes) + "\n")
		path := filepath.Join("golden", name+".yaml")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != b.String() {
			t.Errorf("%s: what is rendered is not %s (%v); go test . -update writes it anew", name, path, err)
		}
	}
}

// TestWhatWasRenderedSaysOfWhat: golden/SOURCE tells of which files the golden
// ones were rendered, so that who has no Helm can tell whether they are still
// true (tests/podlife).
func TestWhatWasRenderedSaysOfWhat(t *testing.T) {
	var lines []string
	for _, dir := range []string{chartDir, "values"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(text), filepath.ToSlash(path)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const path = "golden/SOURCE"
	text := strings.Join(lines, "")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("%s is not that of the chart (%v); go test . -update writes it anew", path, err)
	}
}
