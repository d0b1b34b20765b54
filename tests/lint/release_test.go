package lint

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repeating lists the files that repeat the version of node/process/version.go.
var repeating = []string{
	"CHANGELOG.md", "deploy/Dockerfile", "deploy/compose.yaml", "deploy/k8s/lockstep/Chart.yaml", "docs/getting-started.md", "docs/kubernetes.md",
	"tests/kube/cluster_test.go",
}

// TestTheVersionIsTheSameEverywhere: deploy/version, the script that a release runs, finds no
// difference in this tree. It finds a difference that the test plants in any one of the files.
func TestTheVersionIsTheSameEverywhere(t *testing.T) {
	out, err := exec.Command(filepath.Join(root(), "deploy/version")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	version := strings.TrimSpace(string(out))
	for _, changed := range append([]string{"node/process/version.go"}, repeating...) {
		tree := t.TempDir()
		for _, name := range append([]string{"node/process/version.go", "deploy/version"}, repeating...) {
			text, err := os.ReadFile(filepath.Join(root(), name))
			if err != nil {
				t.Fatal(err)
			}
			if name == changed {
				text = []byte(strings.Replace(string(text), version, version+"1", 1))
			}
			if err := os.MkdirAll(filepath.Join(tree, path.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(tree, name), text, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command(filepath.Join(tree, "deploy/version")).CombinedOutput()
		if err == nil || !strings.Contains(string(out), changed) {
			t.Errorf("%s has another version: %v, %q", changed, err, out)
		}
	}
}

// TestDecisionsHaveNumbersOfTheirOwn: a page of docs/decisions is cited by its number. The number
// is in its name and its title, and no other page has it.
func TestDecisionsHaveNumbersOfTheirOwn(t *testing.T) {
	names, err := tracked()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	pages := map[string]string{}
	for _, name := range names {
		if path.Dir(name) != "docs/decisions" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(), name))
		if err != nil {
			t.Fatal(err)
		}
		pages[path.Base(name)] = string(text)
	}
	if len(pages) == 0 {
		t.Error("there are no decisions")
	}
	report(t, wrongNumbers(pages))
}

var (
	numberOfName  = regexp.MustCompile(`^0*([1-9][0-9]*)-[a-z0-9-]+\.md$`)
	numberOfTitle = regexp.MustCompile(`^# ([0-9]+)\. `)
)

// wrongNumbers finds pages with a missing, different or repeated number. The map holds the pages by
// their names.
func wrongNumbers(pages map[string]string) (found []finding) {
	taken := map[string]bool{}
	for name, text := range pages {
		where := "docs/decisions/" + name
		number, title := numberOfName.FindStringSubmatch(name), numberOfTitle.FindStringSubmatch(text)
		switch {
		case number == nil:
			found = append(found, finding{where, where, "the name does not begin with a number"})
		case title == nil || title[1] != number[1]:
			found = append(found, finding{where, where, "the title does not begin with the number of the name"})
		case taken[number[1]]:
			found = append(found, finding{where, where, "another page has this number"})
		}
		if number != nil {
			taken[number[1]] = true
		}
	}
	return found
}

func TestNumberRuleFindsPlantedOffences(t *testing.T) {
	for _, c := range []struct {
		pages map[string]string
		n     int
	}{
		{map[string]string{"0001-a.md": "# 1. A\n", "0010-b.md": "# 10. B\n"}, 0},
		{map[string]string{"0001-a.md": "# 1. A\n", "0001-b.md": "# 1. B\n"}, 1},
		{map[string]string{"0002-a.md": "# 1. A\n", "0001-b.md": "# B\n", "c.md": "# 3. C\n"}, 3},
	} {
		if found := wrongNumbers(c.pages); len(found) != c.n {
			t.Errorf("%v: %v, want %d", c.pages, found, c.n)
		}
	}
}
