package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameWhatExists: files and folders of the repository that stand
// between backquotes in a document are there.
func TestDocumentsNameWhatExists(t *testing.T) {
	names, err := tracked()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	exists := existing(names)
	for _, name := range names {
		if path.Ext(name) != ".md" || strings.HasPrefix(name, "deploy/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(), name))
		if err != nil {
			t.Fatal(err)
		}
		report(t, namesNothing(name, string(text), exists))
	}
}

// existing holds files and their folders.
func existing(files []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range files {
		for ; name != "."; name = path.Dir(name) {
			all[name] = true
		}
	}
	return all
}

var quoted = regexp.MustCompile("`([A-Za-z0-9_./-]+)`")

// namesNothing finds names that lead nowhere. One without a folder is in the
// folder that was named last.
func namesNothing(document, text string, exists map[string]bool) (found []finding) {
	last := ""
	for i, line := range strings.Split(text, "\n") {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			name := strings.TrimSuffix(m[1], "/")
			folder, _, deep := strings.Cut(name, "/")
			switch {
			case deep && exists[folder]:
			case !deep && path.Ext(name) == ".go":
				name = path.Join(last, name)
			default:
				continue
			}
			if !exists[name] {
				where := fmt.Sprintf("%s:%d", document, i+1)
				found = append(found, finding{where, where, name + " does not exist"})
			}
			last = name
			if path.Ext(name) != "" {
				last = path.Dir(name)
			}
		}
	}
	return found
}

// TestArchitectureNamesEveryPackage: who looks for a package finds it on the
// map.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(), "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, offTheMap(goSources(t), string(text)))
}

func offTheMap(all []*source, text string) (found []finding) {
	seen := map[string]bool{}
	for _, s := range all {
		dir := s.dir()
		if seen[dir] || s.isTest() || strings.HasPrefix(dir, "tests/") || dir == "deploy/k8s/test" {
			continue
		}
		seen[dir] = true
		if !strings.Contains(text, "`"+dir+"`") && !strings.Contains(text, "`"+path.Base(dir)+"`") {
			found = append(found, finding{dir, dir, dir + " is not named in docs/architecture.md"})
		}
	}
	return found
}

func TestDocumentRulesFindPlantedOffences(t *testing.T) {
	exists := existing([]string{"a/b/one.go", "a/b/two.go", "a/c.md"})
	for text, want := range map[string]int{
		"see `a/b/one.go` and `two.go`, `a/b/`, `a`": 0,
		"`a/c.md` is not `x/y.go`, nor `SET a`":      0,
		"`a/b/three.go`":                             1,
		"`a/b` has `one.go`\nand no `four.go`":       1,
		"`a/d`, and `two.go`":                        2,
	} {
		if found := namesNothing("a.md", text, exists); len(found) != want {
			t.Errorf("%q: %v", text, found)
		}
	}
	there := []*source{planted(t, "a/b/x.go", "package b"), planted(t, "a/b/y.go", "package b"), planted(t, "c/x.go", "package c"), planted(t, "tests/d/x.go", "package d")}
	if found := offTheMap(there, "`a/b`"); len(found) != 1 || found[0].subject != "c" {
		t.Errorf("found %v", found)
	}
}
