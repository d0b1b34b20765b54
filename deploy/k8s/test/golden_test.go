package chart

import (
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
			b.WriteString("---\n" + undrawn(strings.TrimSpace(strings.TrimPrefix(o.text, "\n---"))) + "\n")
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

// drawn is a cluster secret that the chart has drawn: 48 letters and digits, in base64.
var drawn = regexp.MustCompile(`"cluster-secret": "[A-Za-z0-9+/]{64}"`)

// undrawn puts the same secret in the place of every one that was drawn.
func undrawn(text string) string {
	same := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("drawn-at-install", 3)))
	return drawn.ReplaceAllString(text, `"cluster-secret": "`+same+`"`)
}

// TestWhatWasRenderedSaysOfWhat: golden/SOURCE names the files from which the golden
// ones were rendered, so that a test without Helm can see whether they are still
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
