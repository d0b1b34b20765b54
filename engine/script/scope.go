package script

import "github.com/yuin/gopher-lua/ast"

// scope is what a block or a function declares.
type scope struct {
	names []string
	// function: it is a function's outermost. Then mentioned are the names it uses,
	// up to 256 of them, once each, and constants the constants of its code.
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

// nameMax is how long a name may be, in bytes: the interpreter looks names up
// without charging for their length.
const nameMax = 256

// identifier takes a name that the code uses into account. A name that is no
// local's is a constant.
func (r *rewriter) identifier(line int, name string) {
	if len(name) > nameMax {
		panic(&syntaxError{line, "name is too long"})
	}
	r.spend(line, r.visible)
	r.constant(line, name)
}

// constant takes a constant of the code into account: the interpreter's compiler
// compares it with each one that its function has already.
func (r *rewriter) constant(line int, text string) {
	s := r.innermost()
	s.constants[text] = true
	r.spend(line, len(s.constants))
}

// compileMax is how many comparisons of names and constants a text may take to be
// compiled: some tenths of a second, on every replica.
const compileMax = 1 << 26

func (r *rewriter) spend(line, n int) {
	if r.work += n; r.work > compileMax {
		panic(&syntaxError{line, "chunk has too many names and constants"})
	}
}

// literal is a number as the interpreter reads it: to it 010 is octal.
func (r *rewriter) literal(e *ast.NumberExpr) {
	if f, ok := parseNumber(e.Value); ok {
		e.Value = plainNumber(f)
	}
	r.constant(e.Line(), e.Value)
}
