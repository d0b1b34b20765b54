// Package lint tests the style of this repository, so that reviewers need not do it. It reads only
// tracked files, so that unfinished work causes no failure. Each rule is itself tested with planted
// offences. An exception to a rule is a line in exceptions, with its reason.
package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "lockstep"

// exceptions lists the allowed offences, each with its reason. The key is the subject of the
// finding: "file", or "file:function", or the name in the rule's message.
var exceptions = map[string]string{}

// finding is one offence.
type finding struct {
	where   string
	subject string
	text    string
}

// report fails the test for every finding that is not an exception.
func report(t *testing.T, found []finding) {
	t.Helper()
	for _, f := range found {
		if exceptions[f.subject] == "" {
			t.Errorf("%s: %s", f.where, f.text)
		}
	}
}

// source is a parsed Go file.
type source struct {
	// path is relative to the root, with slashes.
	path string
	fset *token.FileSet
	file *ast.File
	text string
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }
func (s *source) dir() string  { return path.Dir(s.path) }

// where returns the place of a node as file:line.
func (s *source) where(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.line(n.Pos()))
}

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

// imports returns the import paths of the file with the names that the file uses for them.
func (s *source) imports() map[string]string {
	names := make(map[string]string)
	for _, spec := range s.file.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		names[p] = path.Base(p)
		if spec.Name != nil {
			names[p] = spec.Name.Name
		}
	}
	return names
}

func parse(name, text string) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return &source{path: name, fset: fset, file: file, text: text}, err
}

// planted parses a made-up file, for the test of a rule.
func planted(t *testing.T, name, text string) *source {
	t.Helper()
	s, err := parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// root is the folder of go.mod.
var root = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		panic(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
})

// tracked lists the files that git knows and that exist.
var tracked = sync.OnceValues(func() ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var list []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Stat(filepath.Join(root(), name)); err == nil && info.Mode().IsRegular() {
			list = append(list, name)
		}
	}
	return list, nil
})

// sources parses the tracked Go files.
var sources = sync.OnceValues(func() ([]*source, error) {
	names, err := tracked()
	if err != nil {
		return nil, err
	}
	var all []*source
	for _, name := range names {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(), name))
		if err != nil {
			return nil, err
		}
		s, err := parse(name, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
})

// goSources returns sources, or ends the test if there are none.
func goSources(t *testing.T) []*source {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	return all
}

// check runs a rule over every Go file.
func check(t *testing.T, rule func(*source) []finding) {
	t.Helper()
	for _, s := range goSources(t) {
		report(t, rule(s))
	}
}

// wantFindings runs a rule over a planted file and expects n findings.
func wantFindings(t *testing.T, n int, rule func(*source) []finding, name, text string) {
	t.Helper()
	if found := rule(planted(t, name, text)); len(found) != n {
		t.Errorf("%d findings, want %d, in\n%s\n%v", len(found), n, text, found)
	}
}
