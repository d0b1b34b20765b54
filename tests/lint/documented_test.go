package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// selfEvident are methods that the comment of their interface explains.
var selfEvident = map[string]bool{
	"String": true, "Error": true, "Unwrap": true, "Is": true,
	"Len": true, "Less": true, "Swap": true, "Push": true, "Pop": true,
	"MarshalJSON": true, "UnmarshalJSON": true,
}

// exportedIsDocumented finds exported names that have no comment. It skips tests and package main.
func exportedIsDocumented(s *source) []finding {
	if s.isTest() || s.file.Name.Name == "main" || strings.HasPrefix(s.path, "tests/") {
		return nil
	}
	var found []finding
	missing := func(n ast.Node, name string) {
		found = append(found, finding{s.where(n), s.path + ":" + name, fmt.Sprintf("%s is exported and has no comment", name)})
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && d.Name.IsExported() && receiverIsExported(d) && !(d.Recv != nil && selfEvident[d.Name.Name]) {
				missing(d, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				undocumentedNames(d, spec, missing)
			}
		}
	}
	return found
}

// undocumentedNames accepts a comment on the group, above the name, or behind it.
func undocumentedNames(group *ast.GenDecl, spec ast.Spec, missing func(ast.Node, string)) {
	switch sp := spec.(type) {
	case *ast.TypeSpec:
		if sp.Name.IsExported() && sp.Doc == nil && (group.Doc == nil || group.Lparen.IsValid()) {
			missing(sp, sp.Name.Name)
		}
	case *ast.ValueSpec:
		if sp.Doc != nil || sp.Comment != nil || group.Doc != nil || isEnumeration(group) {
			return
		}
		for _, name := range sp.Names {
			if name.IsExported() {
				missing(name, name.Name)
			}
		}
	}
}

// isEnumeration reports whether a group counts up the values of a type of their own. The comment of
// the type and their names explain such values.
func isEnumeration(group *ast.GenDecl) bool {
	first, ok := group.Specs[0].(*ast.ValueSpec)
	if !ok || group.Tok != token.CONST || first.Type == nil || len(first.Values) == 0 {
		return false
	}
	counts := false
	ast.Inspect(first.Values[0], func(n ast.Node) bool {
		id, isName := n.(*ast.Ident)
		counts = counts || isName && id.Name == "iota"
		return true
	})
	return counts
}

func receiverIsExported(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return true
	}
	exported := false
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = id.IsExported()
			return false
		}
		return true
	})
	return exported
}

func TestExportedNamesAreDocumented(t *testing.T) { check(t, exportedIsDocumented) }

// TestEveryPackageHasItsManual: one file of each package begins with a comment on the package.
func TestEveryPackageHasItsManual(t *testing.T) {
	report(t, packagesWithoutManual(goSources(t)))
}

func packagesWithoutManual(all []*source) []finding {
	documented := map[string]bool{}
	var dirs []string
	for _, s := range all {
		key := s.dir()
		if _, seen := documented[key]; !seen {
			dirs = append(dirs, key)
		}
		documented[key] = documented[key] || s.file.Doc != nil && len(strings.TrimSpace(s.file.Doc.Text())) > 0
	}
	var found []finding
	for _, dir := range dirs {
		if !documented[dir] {
			found = append(found, finding{dir, dir, "the package has no comment that says what it is for"})
		}
	}
	return found
}

func TestDocumentationRulesFindPlantedOffences(t *testing.T) {
	wantFindings(t, 6, exportedIsDocumented, "fsm/a.go", `package fsm
func F() {}
type T struct{}
func (T) M() {}
func (T) String() string { return "" }
type hidden struct{}
func (hidden) M() {}
const C = 1
var (
	V = 1
	// W is documented.
	W = 2
	X = 3 // so is X
)
type Kind int
const (
	A Kind = 1 << iota
	B
)
// Y and Z are.
const (
	Y = 1
	Z = 2
)
`)
	wantFindings(t, 0, exportedIsDocumented, "cmd/x/a.go", "package main\nfunc F() {}")
	with, without := planted(t, "a/a.go", "// Package a is.\npackage a"), planted(t, "b/b.go", "package b")
	if found := packagesWithoutManual([]*source{with, without, planted(t, "a/c.go", "package a")}); len(found) != 1 || found[0].subject != "b" {
		t.Errorf("found %v", found)
	}
}
