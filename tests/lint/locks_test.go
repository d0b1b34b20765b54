package lint

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// locksPage names every lock of the product, with the file that declares it.
const locksPage = "docs/concurrency.md"

// lockTypes are the types of package sync that the page lists.
var lockTypes = []string{"Mutex", "RWMutex", "Cond", "Once"}

// lock is a lock of the product: package, type and field, or package, function and variable.
type lock struct{ name, file string }

// addLocks adds the locks that a file declares to where, with their places.
func addLocks(where map[lock]string, s *source) {
	if s.isTest() || ast.IsGenerated(s.file) || floorOf(s.path) < 0 || s.imports()["sync"] == "" {
		return
	}
	f := lockFinder{s, s.imports()["sync"], where}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			f.specs(s.file.Name.Name, d)
		case *ast.FuncDecl:
			f.variables(s.file.Name.Name+"."+d.Name.Name, d)
		}
	}
}

// lockFinder finds the locks of one file. sync is the name of package sync in it.
type lockFinder struct {
	*source
	sync  string
	where map[lock]string
}

// specs finds the locks in types and variables of the package, or of a function.
func (f *lockFinder) specs(owner string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			f.inType(owner+"."+spec.Name.Name, spec.Type)
		case *ast.ValueSpec:
			for i, name := range spec.Names {
				f.inType(owner+"."+name.Name, spec.Type)
				if i < len(spec.Values) {
					f.inValue(owner+"."+name.Name, spec.Values[i])
				}
			}
		}
	}
}

// variables finds the locks among the variables of a function.
func (f *lockFinder) variables(owner string, fn ast.Node) {
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			f.specs(owner, n)
			return false
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if name, ok := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); ok {
					f.inValue(owner+"."+name.Name, value)
				}
			}
		}
		return true
	})
}

// inType finds the locks in a type. One that is embedded in an unnamed struct has the name of
// the field that the struct belongs to.
func (f *lockFinder) inType(name string, t ast.Expr) {
	switch t := t.(type) {
	case *ast.StarExpr:
		f.inType(name, t.X)
	case *ast.ArrayType:
		f.inType(name, t.Elt)
	case *ast.MapType:
		f.inType(name, t.Value)
	case *ast.SelectorExpr:
		if id, ok := t.X.(*ast.Ident); ok && id.Name == f.sync && slices.Contains(lockTypes, t.Sel.Name) {
			f.where[lock{name, f.path}] = f.source.where(t)
		}
	case *ast.StructType:
		for _, field := range t.Fields.List {
			if len(field.Names) == 0 {
				f.inType(name, field.Type)
			}
			for _, n := range field.Names {
				f.inType(name+"."+n.Name, field.Type)
			}
		}
	}
}

// inValue finds a lock that a variable is made with, as new(sync.Mutex) or &sync.Mutex{}.
func (f *lockFinder) inValue(name string, value ast.Expr) {
	switch v := value.(type) {
	case *ast.UnaryExpr:
		f.inValue(name, v.X)
	case *ast.CompositeLit:
		f.inType(name, v.Type)
	case *ast.CallExpr:
		if id, ok := v.Fun.(*ast.Ident); ok && (id.Name == "new" || id.Name == "make") && len(v.Args) > 0 {
			f.inType(name, v.Args[0])
		}
	}
}

// lockRow is a row of the page's tables: a lock and its file.
var lockRow = regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\| `([\\w./]+\\.go)` \\|")

// locksOf lists the locks that a page names, each with its line.
func locksOf(page string) map[lock]int {
	named := map[lock]int{}
	for _, at := range lockRow.FindAllStringSubmatchIndex(page, -1) {
		named[lock{page[at[2]:at[3]], page[at[4]:at[5]]}] = strings.Count(page[:at[0]], "\n") + 1
	}
	return named
}

// unlikeThePage compares the locks of the code with the locks that the page names.
func unlikeThePage(where map[lock]string, page string) (found []finding) {
	named := locksOf(page)
	order := func(a, b lock) int { return strings.Compare(a.name+a.file, b.name+b.file) }
	for _, l := range slices.SortedFunc(maps.Keys(where), order) {
		if _, there := named[l]; !there {
			found = append(found, finding{where[l], l.name, fmt.Sprintf("the lock %s is not in a table of %s: "+
				"write a row with its name, its file, what it guards, and the locks that are taken while it is held", l.name, locksPage)})
		}
	}
	for _, l := range slices.SortedFunc(maps.Keys(named), order) {
		if where[l] == "" {
			found = append(found, finding{fmt.Sprintf("%s:%d", locksPage, named[l]), l.name, fmt.Sprintf("%s has no lock %s", l.file, l.name)})
		}
	}
	return found
}

func TestThePageNamesEveryLock(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(), locksPage))
	if err != nil {
		t.Fatal(err)
	}
	where := map[lock]string{}
	for _, s := range goSources(t) {
		addLocks(where, s)
	}
	report(t, unlikeThePage(where, string(page)))
}

func TestLockRuleFindsPlantedOffences(t *testing.T) {
	const page = "| lock | file |\n|---|---|\n| `x.T.mu` | `engine/x/a.go` | words |\n"
	for _, c := range []struct {
		name, text, page string
		found            int
	}{
		{"engine/x/a.go", `package x; import "sync"; type T struct { mu sync.Mutex }`, page, 0},
		{"engine/x/a.go", `package x; import "sync"; type T struct { mu struct { sync.RWMutex; n int } }`, page, 0},
		{"engine/x/a.go", `package x; import s "sync"; type T[K any] struct { mu s.RWMutex; n int }`, page, 0},
		// The code has locks that are missing on the page.
		{"engine/x/a.go", `package x; import "sync"; type T struct { mu, more sync.Mutex }`, page, 1},
		{"engine/x/a.go", `package x; import "sync"; type T struct { mu sync.Mutex; all [8]sync.Mutex; one *sync.Mutex; n map[int]*sync.Mutex }`, page, 3},
		{"engine/x/a.go", `package x; import "sync"; type T struct { mu sync.Mutex; in struct { deep sync.Mutex } }; var once sync.Once`, page, 2},
		{"engine/x/a.go", `package x; import "sync"; type T struct { mu sync.Mutex }; var a, b = new(sync.Mutex), &sync.RWMutex{}`, page, 2},
		{"engine/x/a.go", `package x; import "sync"; type T struct { mu sync.Mutex }; func f() { var a sync.Mutex; b := &sync.Once{}; c := new(sync.Cond) }`, page, 3},
		{"node/x/a.go", `package x; import "sync"; type lock sync.Mutex`, "", 1},
		// The page has locks that are missing in the code.
		{"engine/x/a.go", `package x; import "sync"; type T struct { wait sync.WaitGroup }`, page, 1},
		{"engine/x/a.go", `package x; import "sync"; func f() { sync.OnceFunc(nil) }`, page, 1},
		{"engine/x/b.go", `package x; import "sync"; type T struct { mu sync.Mutex }`, page, 2},
		{"engine/x/a.go", `package x; import "sync"; type U struct { mu sync.Mutex }`, page, 2},
		// Locks of tests need no row on the page.
		{"engine/x/a_test.go", `package x; import "sync"; type T struct { mu sync.Mutex }`, "", 0},
		{"tests/x/a.go", `package x; import "sync"; type T struct { mu sync.Mutex }`, "", 0},
	} {
		where := map[lock]string{}
		addLocks(where, planted(t, c.name, c.text))
		if found := unlikeThePage(where, c.page); len(found) != c.found {
			t.Errorf("%d findings, want %d, in %s\n%s\n%v", len(found), c.found, c.name, c.text, found)
		}
	}
}
