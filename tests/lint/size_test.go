package lint

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

const (
	functionLinesMax = 70
	fileLinesMax     = 800
)

// functionsFitAScreen counts the lines of a function without those of the literals in it, because
// readers read a table row by row.
func functionsFitAScreen(s *source) []finding {
	var found []finding
	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		lines := s.line(fn.Body.End()) - s.line(fn.Body.Pos()) - 1 - literalLines(s, fn.Body)
		if lines > functionLinesMax {
			found = append(found, finding{s.where(fn), s.path + ":" + fn.Name.Name,
				fmt.Sprintf("%s has %d lines; %d fit a screen", fn.Name.Name, lines, functionLinesMax)})
		}
	}
	return found
}

// literalLines counts the inner lines of the outermost literals that hold no functions.
func literalLines(s *source, body ast.Node) int {
	lines := 0
	ast.Inspect(body, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if holdsCode(lit) {
			return true
		}
		lines += s.line(lit.End()) - s.line(lit.Pos())
		return false
	})
	return lines
}

// holdsCode reports whether a literal has functions in it. Its lines count as lines of the
// function.
func holdsCode(lit ast.Node) bool {
	found := false
	ast.Inspect(lit, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			found = true
		}
		return !found
	})
	return found
}

func filesAreNotTooLong(s *source) []finding {
	lines := strings.Count(s.text, "\n")
	if lines <= fileLinesMax || ast.IsGenerated(s.file) {
		return nil
	}
	return []finding{{s.path, s.path, fmt.Sprintf("%d lines; %d is the most, a concept a file", lines, fileLinesMax)}}
}

func TestFunctionsFitAScreen(t *testing.T) { check(t, functionsFitAScreen) }
func TestFilesAreNotTooLong(t *testing.T)  { check(t, filesAreNotTooLong) }

func TestSizeRulesFindPlantedOffences(t *testing.T) {
	const head = "package x\nfunc f() {\n"
	wantFindings(t, 1, functionsFitAScreen, "a.go", head+strings.Repeat("g()\n", 71)+"}\n")
	wantFindings(t, 0, functionsFitAScreen, "a.go", head+strings.Repeat("g()\n", 70)+"}\n")
	wantFindings(t, 0, functionsFitAScreen, "a.go", head+"x := []int{\n"+strings.Repeat("1,\n", 100)+"}\n}\n")
	wantFindings(t, 1, functionsFitAScreen, "a.go", head+"x := []func(){\nfunc() {\n"+strings.Repeat("g()\n", 100)+"},\n}\n}\n")
	wantFindings(t, 1, filesAreNotTooLong, "a.go", "package x\n"+strings.Repeat("\n", 800))
}
