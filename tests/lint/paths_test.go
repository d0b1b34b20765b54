package lint

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pathLimits lists the paths of commands that docs/architecture.md follows function by function,
// with the largest number of functions and files that each may have.
var pathLimits = []struct {
	begins           string
	functions, files int
}{
	{"The functions that hand it on, ", 45, 22},
	{"The functions of a GET on its leader, ", 25, 22},
}

var (
	pathCount = regexp.MustCompile(`^(\d+) in (\d+) files`)
	pathName  = regexp.MustCompile("`([A-Za-z0-9_./]+)`")
)

// TestArchitectureFollowsCommands: the functions that the text names are in the files that it
// names. Their numbers are those that the text states, and stay within the limits.
func TestArchitectureFollowsCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(), "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := sources()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	declared := declarations(files)
	for _, limit := range pathLimits {
		report(t, followsPath(string(text), limit.begins, limit.functions, limit.files, declared))
	}
}

// declarations returns the functions and methods of files, each as "file name".
func declarations(files []*source) map[string]bool {
	all := map[string]bool{}
	for _, s := range files {
		for _, decl := range s.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				all[s.path+" "+fn.Name.Name] = true
			}
		}
	}
	return all
}

// followsPath checks one path: a paragraph that starts with begins and the two numbers, and the
// list after it.
func followsPath(text, begins string, functionsMax, filesMax int, declared map[string]bool) (found []finding) {
	offence := func(format string, args ...any) {
		found = append(found, finding{"docs/architecture.md", "docs/architecture.md", begins + fmt.Sprintf(format, args...)})
	}
	_, rest, ok := strings.Cut(text, begins)
	stated := pathCount.FindStringSubmatch(rest)
	paragraph, list, listed := strings.Cut(rest, "\n\n- ")
	if !ok || stated == nil || !listed || strings.Contains(paragraph, "\n\n") {
		offence("is not there, with its counts and a list behind it")
		return found
	}
	list, _, _ = strings.Cut(list, "\n\n")
	file, functions, files := "", map[string]bool{}, map[string]bool{}
	for _, m := range pathName.FindAllStringSubmatch(list, -1) {
		if path.Ext(m[1]) == ".go" {
			file, files[m[1]] = m[1], true
			continue
		}
		functions[file+" "+m[1]] = true
		if !declared[file+" "+m[1]] {
			offence("%s is not in %s", m[1], file)
		}
	}
	if n, _ := strconv.Atoi(stated[1]); n != len(functions) || n > functionsMax {
		offence("%s functions are stated, %d are named, and there may be %d", stated[1], len(functions), functionsMax)
	}
	if n, _ := strconv.Atoi(stated[2]); n != len(files) || n > filesMax {
		offence("%s files are stated, %d are named, and there may be %d", stated[2], len(files), filesMax)
	}
	return found
}

func TestPathRuleFindsPlantedOffences(t *testing.T) {
	declared := declarations([]*source{planted(t, "a/b.go", "package a; func F() {}; type T int; func (T) g() {}")})
	for text, n := range map[string]int{
		"It goes, 2 in 1 files: so.\n\n- here: `a/b.go` `F`\n  `g`\n\nAnd `more`.":  0,
		"It goes, 2 in 1 files: so.\n\n- here: `a/b.go` `F`\n- there: `a/b.go` `g`": 0,
		"It goes, 3 in 1 files: so.\n\n- here: `a/b.go` `F` `g`":                    1,
		"It goes, 2 in 2 files: so.\n\n- here: `a/b.go` `F` `g`":                    1,
		"It goes, 2 in 1 files: so.\n\n- here: `a/b.go` `F` `h`":                    1,
		"It goes, 3 in 1 files: so.\n\n- here: `a/b.go` `F` `g` `h`":                2,
		"It goes, 2 in 2 files: so.\n\n- here: `a/b.go` `F` `a/c.go` `g`":           1,
		"It goes: so.\n\n- here: `a/b.go` `F` `g`":                                  1,
		"It goes, 2 in 1 files: so.\n\nElse.\n\n- here: `a/b.go` `F` `g`":           1,
		"It stays.": 1,
	} {
		if found := followsPath(text, "It goes, ", 2, 2, declared); len(found) != n {
			t.Errorf("%q: %v, want %d", text, found, n)
		}
	}
}
