package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// excuse allows a walk over a map. It stands on the line of the walk, or alone on the line above.
const excuse = "order does not matter: "

// listedPackage is a package in the output of go list.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard, DepOnly       bool
}

// listPackages builds export data for the pure folders and their imports. The build cache already
// has that data on a machine where their tests ran.
func listPackages(patterns ...string) ([]listedPackage, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard,DepOnly"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = root()
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, problems.String())
	}
	var list []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
}

// TestMapOrderReachesNothing: Go walks a map in a different order each time, so a result that
// depends on the order would make replicas differ. The test needs types, because a name does not
// show whether it is a map.
func TestMapOrderReachesNothing(t *testing.T) {
	var patterns []string
	for _, f := range pureFloors {
		patterns = append(patterns, "./"+f+"/...")
	}
	list, err := listPackages(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for _, p := range list {
		exports[p.ImportPath] = p.Export
	}
	known, err := tracked()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range list {
		if p.DepOnly || p.Standard {
			continue
		}
		found, err := mapWalks(fset, imports, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if slices.Contains(known, f.subject) {
				report(t, []finding{f})
			}
		}
	}
}

// mapWalks type-checks one package and finds its walks over maps.
func mapWalks(fset *token.FileSet, imports types.Importer, p listedPackage) ([]finding, error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: imports}
	if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil {
		return nil, err
	}
	var found []finding
	for _, f := range files {
		found = append(found, mapWalksIn(fset, f, info)...)
	}
	return found, nil
}

func mapWalksIn(fset *token.FileSet, f *ast.File, info *types.Info) []finding {
	excused := excusedLines(fset, f)
	sorted := map[ast.Expr]bool{}
	var found []finding
	say := func(n ast.Node, text string) {
		at := fset.Position(n.Pos())
		name, err := filepath.Rel(root(), at.Filename)
		if err != nil {
			name = at.Filename
		}
		if !excused[at.Line] {
			found = append(found, finding{fmt.Sprintf("%s:%d", name, at.Line), filepath.ToSlash(name),
				text + "; sort, or say on the line `// " + excuse + "<why>`"})
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if isMap(info.Types[n.X].Type) {
				say(n, "a walk over a map")
			}
		case *ast.CallExpr:
			switch name := calledName(info, n); {
			case strings.HasPrefix(name, "slices.Sorted"):
				for _, arg := range n.Args {
					sorted[arg] = true
				}
			case !sorted[n] && (name == "maps.Keys" || name == "maps.Values" || name == "maps.All"):
				say(n, "a walk over a map by "+name)
			case name == "sync.Range":
				say(n, "a walk over a sync.Map")
			}
		}
		return true
	})
	return found
}

// calledName returns "package.Function" for the call of a function of a package or of a method,
// where it uses the method's package. It returns "" for other calls.
func calledName(info *types.Info, call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	fn, ok := info.Uses[sel.Sel].(*types.Func)
	if !ok || fn.Pkg() == nil {
		return ""
	}
	return fn.Pkg().Name() + "." + fn.Name()
}

// isMap reports whether a type is a map, also behind a name or a type parameter.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	if param, ok := t.(*types.TypeParam); ok {
		iface, ok := param.Constraint().Underlying().(*types.Interface)
		for i := 0; ok && i < iface.NumEmbeddeds(); i++ {
			if union, isUnion := iface.EmbeddedType(i).(*types.Union); isUnion {
				for j := range union.Len() {
					if isMap(union.Term(j).Type()) {
						return true
					}
				}
			} else if isMap(iface.EmbeddedType(i)) {
				return true
			}
		}
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

func excusedLines(fset *token.FileSet, f *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			_, why, ok := strings.Cut(c.Text, excuse)
			if ok && strings.TrimSpace(why) != "" {
				line := fset.Position(c.End()).Line
				lines[line], lines[line+1] = true, true
			}
		}
	}
	return lines
}

func TestMapRuleFindsPlantedOffences(t *testing.T) {
	const text = `package x
import ("maps"; "slices"; "sync")
type named map[string]int
func f[M ~map[string]int](m named, g M, s []int, sm *sync.Map) {
	for range m {}
	for k := range g { _ = k }
	for range s {}
	for range maps.Keys(m) {}
	_ = slices.Sorted(maps.Keys(m))
	sm.Range(func(a, b any) bool { return true })
	for range m {} // order does not matter:
	for range m {} // order does not matter: it only counts
}
`
	list, err := listPackages("maps", "slices", "sync")
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for _, p := range list {
		exports[p.ImportPath] = p.Export
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	found, err := mapWalks(fset, imports, listedPackage{ImportPath: "x", Dir: dir, GoFiles: []string{"a.go"}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range found {
		lines = append(lines, f.where[strings.LastIndex(f.where, ":")+1:])
	}
	if got := strings.Join(lines, " "); got != "5 6 8 10 11" {
		t.Errorf("found on lines %s: %v", got, found)
	}
}
