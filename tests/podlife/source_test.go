package podlife

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatIsPlayedIsTheChart: the rendered objects belong to the chart as it is now.
func TestWhatIsPlayedIsTheChart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(goldenDir, "SOURCE"))
	must(t, err)
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, path, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[path] = sum
	}
	base := filepath.Dir(goldenDir)
	for _, dir := range []string{"../lockstep", "values"} {
		must(t, filepath.WalkDir(filepath.Join(base, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(base, path)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if sum := fmt.Sprintf("%x", sha256.Sum256(text)); sums[name] != sum {
				t.Errorf("%s has changed since the chart was rendered: run the chart's tests with -update (make chart shows what changes)", name)
			}
			delete(sums, name)
			return err
		}))
	}
	for name := range sums {
		t.Errorf("%s is no longer there: render the chart anew", name)
	}
}
