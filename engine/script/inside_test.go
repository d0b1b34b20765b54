package script_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// importers are the files that may import unsafe. args.go turns bytes into a string without a copy.
var importers = []string{"args.go", "inside.go"}

// TestInsideIsOnlyRead: inside.go assigns only to its own variables, and no other file has pointers
// into the interpreter.
func TestInsideIsOnlyRead(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	files := token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if i.Path.Value == `"unsafe"` && !slices.Contains(importers, path) || i.Path.Value == `"reflect"` && path != "inside.go" {
				t.Errorf("%s imports %s", path, i.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, bad := range touches(path, n) {
				t.Errorf("%s: %s", files.Position(n.Pos()), bad)
			}
			return true
		})
	}
}

// touches describes how a piece of a file changes the interpreter, or could.
func touches(path string, n ast.Node) (found []string) {
	if path != "inside.go" {
		if id, ok := n.(*ast.Ident); ok && slices.Contains([]string{"peek", "frame", "registry"}, id.Name) {
			found = append(found, id.Name+" is for inside.go alone")
		}
		return found
	}
	var written []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		written = n.Lhs
	case *ast.IncDecStmt:
		written = []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			found = append(found, "an address is taken")
		}
	}
	for _, e := range written {
		if _, own := e.(*ast.Ident); !own {
			found = append(found, "an assignment to what is no variable of its own")
		}
	}
	return found
}
