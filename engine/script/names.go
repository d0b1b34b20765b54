package script

import (
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// mention records a name that the innermost function uses.
func (r *rewriter) mention(name string) {
	if s := r.innermost(); len(s.mentioned) < 256 && !slices.Contains(s.mentioned, name) {
		s.mentioned = append(s.mentioned, name)
	}
}

// names are the names that a script uses, by place. Error texts need them, and the interpreter's
// own texts do not have them.
type names struct {
	indexed map[indexAt][]string
	called  map[int][]string
	summed  map[int][]string
}

type indexAt struct {
	line int
	key  string
}

func newNames() *names {
	return &names{map[indexAt][]string{}, map[int][]string{}, map[int][]string{}}
}

// appendNew adds a description that is not in the list yet. Lists of more than one are equivalent
// (only), so it adds no third one.
func appendNew(list []string, s string) []string {
	if len(list) > 1 || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (n *names) index(line int, key, desc string) {
	at := indexAt{line, key}
	n.indexed[at] = appendNew(n.indexed[at], desc)
}

func (r *rewriter) callee(e *ast.FuncCallExpr) {
	desc := ""
	if e.Func == nil {
		desc = "method '" + e.Method + "'"
		r.names.index(e.Line(), e.Method, r.describe(e.Receiver))
	} else {
		desc = r.describe(e.Func)
	}
	r.names.called[e.Line()] = appendNew(r.names.called[e.Line()], desc)
}

func (r *rewriter) operand(line int, e ast.Expr) {
	if desc := r.describe(e); desc != "" {
		r.names.summed[line] = appendNew(r.names.summed[line], desc)
	}
}

// describe names an expression as Lua's errors do: "local 'a'", "field 'b'".
func (r *rewriter) describe(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		inner := true
		for i := len(r.scopes) - 1; i >= 0; i-- {
			for _, n := range r.scopes[i].names {
				if n == e.Value && inner {
					return "local '" + n + "'"
				} else if n == e.Value {
					return "upvalue '" + n + "'"
				}
			}
			inner = inner && !r.scopes[i].function
		}
		return "global '" + e.Value + "'"
	case *ast.AttrGetExpr:
		if k, ok := e.Key.(*ast.StringExpr); ok {
			return "field '" + k.Value + "'"
		}
		return "field '?'"
	}
	return ""
}

// The interpreter's own error texts, which are replaced by Lua's.
var (
	indexText = regexp.MustCompile(`attempt to index a non-table object\((\w+)\) with key '(.*)'$`)
	callText  = regexp.MustCompile(`attempt to call a non-function object$`)
	arithText = regexp.MustCompile(`cannot perform \w+ operation between (\w+) and (\w+)$`)
	lessText  = regexp.MustCompile(`attempt to compare (\w+) with (\w+)$`)
)

func named(desc, kind string) string {
	if desc == "" || strings.Contains(desc, hidden) {
		return "a " + kind + " value"
	}
	return desc + " (a " + kind + " value)"
}

// translate turns an error text of the interpreter into Lua's words. kind returns the type of a
// called value that is not a function.
func (n *names) translate(text string, line int, kind func(desc string) string) string {
	if m := indexText.FindStringSubmatchIndex(text); m != nil {
		kind, key := text[m[2]:m[3]], text[m[4]:m[5]]
		return text[:m[0]] + "attempt to index " + named(only(n.indexed[indexAt{line, key}]), kind)
	}
	if m := callText.FindStringIndex(text); m != nil {
		desc := only(n.called[line])
		return text[:m[0]] + "attempt to call " + named(desc, kind(desc))
	}
	if m := arithText.FindStringSubmatchIndex(text); m != nil {
		kind := text[m[2]:m[3]]
		if kind == "number" {
			kind = text[m[4]:m[5]]
		}
		return text[:m[0]] + "attempt to perform arithmetic on " + named(only(n.summed[line]), kind)
	}
	if m := lessText.FindStringSubmatchIndex(text); m != nil && text[m[2]:m[3]] == text[m[4]:m[5]] {
		return text[:m[0]] + "attempt to compare two " + text[m[2]:m[3]] + " values"
	}
	for _, f := range fixedTexts {
		if strings.HasSuffix(text, f[0]) {
			return strings.TrimSuffix(text, f[0]) + f[1]
		}
	}
	return text
}

var fixedTexts = [][2]string{
	{"registry overflow", "stack overflow"},
	{"__unm undefined", "attempt to perform arithmetic on a table value"},
	{"too many recursions in gettable", "loop in gettable"},
	{"too many recursions in settable", "loop in settable"},
}

// only returns the description if there is just one, otherwise "".
func only(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return ""
}
