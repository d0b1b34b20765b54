package lint

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// These are the largest numbers of methods and fields of a type. A larger type does several things
// and should be split.
const (
	methodsMax = 40
	fieldsMax  = 30
)

// largeTypes lists the types that may be larger, each with its reason. The key is the folder and
// the name.
var largeTypes = map[string]string{
	"node/config/Settings":        "a table: a field for each setting",
	"engine/command/Spec":         "a table: a field for each column of a row of the command table",
	"proto/client/Connection":     "a table: what CLIENT LIST shows of a connection",
	"tests/kit/prototest/World":   "plays the whole node for clients in tests",
	"tests/kit/cmdtest/Generator": "a table: a method for each family of commands and kind of argument that it makes",
}

// typeSize is the size of a type and the place of its declaration.
type typeSize struct {
	where           string
	methods, fields int
}

// addTypes counts the fields and methods that a file declares, except in tests. Methods and fields
// that a type gets from an embedded type count for the embedded type.
func addTypes(sizes map[string]typeSize, s *source) {
	if s.isTest() || ast.IsGenerated(s.file) {
		return
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && len(d.Recv.List) == 1 {
				name := path.Join(s.dir(), receiverName(d.Recv.List[0].Type))
				size := sizes[name]
				size.methods++
				sizes[name] = size
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				name := path.Join(s.dir(), t.Name.Name)
				size := sizes[name]
				size.where = s.where(t)
				if fields, ok := t.Type.(*ast.StructType); ok {
					size.fields = countFields(fields)
				}
				sizes[name] = size
			}
		}
	}
}

// receiverName returns the name of a receiver's type.
func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.IndexListExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// countFields counts the fields of a struct. An embedded field counts as one.
func countFields(s *ast.StructType) int {
	n := 0
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

// typesAreNotTooLarge finds types that are too large, and exceptions that are no longer needed.
// sizes must hold the counts of all files.
func typesAreNotTooLarge(sizes map[string]typeSize, large map[string]string) []finding {
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		size := sizes[name]
		over := size.methods > methodsMax || size.fields > fieldsMax
		switch reason := large[name]; {
		case over && reason == "":
			found = append(found, finding{size.where, name, fmt.Sprintf("%s has %d methods and %d fields; %d and %d are the most",
				name, size.methods, size.fields, methodsMax, fieldsMax)})
		case !over && reason != "":
			found = append(found, finding{size.where, name, name + " is small enough, and needs no exception any more"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(large)) {
		if _, there := sizes[name]; !there {
			found = append(found, finding{name, name, name + " is an exception, and is not there"})
		}
	}
	return found
}

func TestTypesAreNotTooLarge(t *testing.T) {
	sizes := map[string]typeSize{}
	for _, s := range goSources(t) {
		addTypes(sizes, s)
	}
	report(t, typesAreNotTooLarge(sizes, largeTypes))
}

func TestTypeRuleFindsPlantedOffences(t *testing.T) {
	methods := func(n int) string { return "package x\ntype T struct{}\n" + strings.Repeat("func (t *T) f() {}\n", n) }
	fields := func(n int) string {
		return "package x\ntype T[K any] struct {\n" + strings.Repeat("a, b int\n", n) + "}\n"
	}
	for _, c := range []struct {
		name, text string
		large      map[string]string
		found      int
	}{
		{"x/a.go", methods(40), nil, 0},
		{"x/a.go", methods(41), nil, 1},
		{"x/a.go", methods(41), map[string]string{"x/T": "a reason"}, 0},
		{"x/a.go", methods(3), map[string]string{"x/T": "it was larger once"}, 1},
		{"x/a.go", methods(3), map[string]string{"x/U": "it is gone"}, 1},
		{"x/a.go", fields(15), nil, 0},
		{"x/a.go", fields(16), nil, 1},
		{"x/a_test.go", fields(16), nil, 0},
	} {
		sizes := map[string]typeSize{}
		addTypes(sizes, planted(t, c.name, c.text))
		if found := typesAreNotTooLarge(sizes, c.large); len(found) != c.found {
			t.Errorf("%d findings, want %d, in\n%s\n%v", len(found), c.found, c.text, found)
		}
	}
}
