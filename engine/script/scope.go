package script

import "github.com/yuin/gopher-lua/ast"

// scope is the declarations of a block or a function.
type scope struct {
	names []string
	// function is set for the outermost scope of a function. Then mentioned are the names that the
	// function uses, each once and at most 256, and constants are the constants of its code.
	function  bool
	mentioned []string
	constants map[string]bool
}

func newFunctionScope() *scope { return &scope{function: true, constants: map[string]bool{}} }

func (r *rewriter) push(s *scope) {
	r.scopes = append(r.scopes, s)
	r.visible += len(s.names)
}

func (r *rewriter) pop() {
	r.visible -= len(r.scopes[len(r.scopes)-1].names)
	r.scopes = r.scopes[:len(r.scopes)-1]
}

func (r *rewriter) declare(names ...string) {
	s := r.scopes[len(r.scopes)-1]
	s.names = append(s.names, names...)
	r.visible += len(names)
}

// innermost is the scope of the innermost function.
func (r *rewriter) innermost() *scope {
	for i := len(r.scopes) - 1; ; i-- {
		if r.scopes[i].function {
			return r.scopes[i]
		}
	}
}

// nameMax is the longest name, in bytes: the interpreter looks names up without charging for their
// length.
const nameMax = 256

// identifier accounts for a name in the code. A name that is not a local variable's is a constant.
func (r *rewriter) identifier(line int, name string) {
	if len(name) > nameMax {
		panic(&syntaxError{line, "name is too long"})
	}
	r.spend(line, r.visible)
	r.constant(line, name)
}

// constant accounts for a constant of the code: the interpreter's compiler compares it with each
// constant that its function has already.
func (r *rewriter) constant(line int, text string) {
	s := r.innermost()
	s.constants[text] = true
	r.spend(line, len(s.constants))
}

// compileMax is how many comparisons of names and constants compiling a text may take: some tenths
// of a second, on every replica.
const compileMax = 1 << 26

func (r *rewriter) spend(line, n int) {
	if r.work += n; r.work > compileMax {
		panic(&syntaxError{line, "chunk has too many names and constants"})
	}
}

// literal is a number as this package reads it. The interpreter would read 010 as octal.
func (r *rewriter) literal(e *ast.NumberExpr) {
	if f, ok := parseNumber(e.Value); ok {
		e.Value = plainNumber(f)
	}
	r.constant(e.Line(), e.Value)
}
