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

// TestDocumentsNameWhatExists: the files and folders of the repository that a document names
// between backquotes exist.
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

// existing returns the set of the files and their folders.
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

// namesNothing finds names of files that do not exist. It looks up a name without a folder in the
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

// TestArchitectureNamesEveryPackage: docs/architecture.md names every package, so that a reader can
// find each one there.
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

// TestTheRootIsListed: README.md explains each file and folder of the root.
func TestTheRootIsListed(t *testing.T) {
	names, err := tracked()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, notListed(names, string(text)))
}

// listedRow is a row of the list: names between backquotes, and some words.
var listedRow = regexp.MustCompile(`(?m)^\| (` + "`[^|]+`" + `) \| .*[a-z].* \|$`)

func notListed(names []string, readme string) (found []finding) {
	_, list, _ := strings.Cut(readme, "\n## The folders\n")
	list, _, _ = strings.Cut(list, "\n## ")
	listed := map[string]bool{}
	for _, row := range listedRow.FindAllStringSubmatch(list, -1) {
		for _, m := range quoted.FindAllStringSubmatch(row[1], -1) {
			listed[m[1]] = true
		}
	}
	inRoot := map[string]bool{}
	for _, name := range names {
		top, _, deep := strings.Cut(name, "/")
		if deep {
			top += "/"
		}
		inRoot[top] = true
	}
	for name := range inRoot {
		if !listed[name] {
			found = append(found, finding{"README.md", name, "the list of the root says nothing of " + name})
		}
	}
	for name := range listed {
		if !inRoot[name] {
			found = append(found, finding{"README.md", name, "the list of the root has " + name + ", which is not there"})
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
	const list = "`x/`\n## The folders\n\n| where | what |\n|---|---|\n| `a/`, `b.md` | words |\n| `c/` | |\n\n## More\n| `d/` | words |\n"
	if found := notListed([]string{"a/b/one.go", "b.md"}, "\n"+list); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if found := notListed([]string{"a/b/one.go", "c/d", "d/e", "x/y"}, "\n"+list); len(found) != 4 {
		t.Errorf("of c/, d/, x/ and b.md: found %v", found)
	}
	there := []*source{planted(t, "a/b/x.go", "package b"), planted(t, "a/b/y.go", "package b"), planted(t, "c/x.go", "package c"), planted(t, "tests/d/x.go", "package d")}
	if found := offTheMap(there, "`a/b`"); len(found) != 1 || found[0].subject != "c" {
		t.Errorf("found %v", found)
	}
}
