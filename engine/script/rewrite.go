package script

import (
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// rewriter changes a script's syntax tree, so that all work that is not bounded by the number of
// instructions goes through intrinsics. An intrinsic is written as a call of a string constant,
// which is replaced after compiling (compile.go).
type rewriter struct {
	marker string
	depth  int
	names  *names
	scopes []*scope
	// loops are the open loops of the innermost function. parameter is the function's last
	// parameter, or "" if it has none.
	loops     []*loop
	parameter string
	// visible is how many names the scopes declare, work is the work of compiling.
	visible, work int
}

// syntaxError ends the rewriting of a script that is nested too deeply.
type syntaxError struct {
	line int
	text string
}

func (r *rewriter) enter(line int) {
	r.depth++
	if r.depth > syntaxDepthMax {
		panic(&syntaxError{line, "chunk has too many syntax levels"})
	}
}

// call makes a call of an intrinsic with one result.
func (r *rewriter) call(at ast.Expr, name string, args ...ast.Expr) *ast.FuncCallExpr {
	fn := &ast.StringExpr{Value: r.marker + name}
	fn.SetLine(at.Line())
	c := &ast.FuncCallExpr{Func: fn, Args: args, AdjustRet: true}
	c.SetLine(at.Line())
	c.SetLastLine(at.LastLine())
	return c
}

func number(at ast.Expr, n int) ast.Expr {
	e := &ast.NumberExpr{Value: strconv.Itoa(n)}
	e.SetLine(at.Line())
	return e
}

func (r *rewriter) text(at ast.Expr, s string) ast.Expr {
	r.constant(at.Line(), s)
	e := &ast.StringExpr{Value: s}
	e.SetLine(at.Line())
	return e
}

// isMulti reports whether an expression can have several values.
func isMulti(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}

func (r *rewriter) exprs(list []ast.Expr) []ast.Expr {
	out := make([]ast.Expr, len(list))
	for i, e := range list {
		out[i] = r.expr(e)
		if c, ok := e.(*ast.Comma3Expr); ok && i == len(list)-1 && !c.AdjustRet {
			spread := r.call(e, "spread", c)
			spread.AdjustRet = false
			out[i] = spread
		}
	}
	return out
}

// expr rewrites an expression.
func (r *rewriter) expr(e ast.Expr) ast.Expr {
	r.enter(e.Line())
	defer func() { r.depth-- }()
	switch e := e.(type) {
	case *ast.IdentExpr:
		r.identifier(e.Line(), e.Value)
		r.mention(e.Value)
	case *ast.StringExpr:
		r.constant(e.Line(), e.Value)
	case *ast.NumberExpr:
		r.literal(e)
	case *ast.AttrGetExpr:
		return r.index(e)
	case *ast.TableExpr:
		return r.table(e)
	case *ast.FuncCallExpr:
		r.callee(e)
		if e.Func != nil {
			e.Func = r.expr(e.Func)
		} else {
			r.identifier(e.Line(), e.Method)
			e.Receiver = r.expr(e.Receiver)
		}
		e.Args = r.exprs(e.Args)
	case *ast.LogicalOpExpr:
		r.chain(e)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
		return r.relation(e)
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.ArithmeticOpExpr:
		if e.Operator == "%" {
			r.operand(e.Line(), e.Rhs)
			r.operand(e.Line(), e.Lhs)
			return r.call(e, "mod", r.single(e.Lhs), r.single(e.Rhs))
		}
		r.chain(e)
	case *ast.UnaryMinusOpExpr:
		r.operand(e.Line(), e.Expr)
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		desc := r.describe(e.Expr)
		return r.call(e, "len", r.expr(e.Expr), r.text(e, desc))
	case *ast.FunctionExpr:
		return r.function(e)
	}
	return e
}

// chain rewrites operators that lean to the left: a long sum is nested deeply in the tree, but not
// in the source. The interpreter's compiler recurses, so the length of a chain has a bound of its
// own.
func (r *rewriter) chain(e ast.Expr) {
	for n := 0; ; n++ {
		if n > chainMax {
			panic(&syntaxError{e.Line(), "chunk has too many syntax levels"})
		}
		var lhs *ast.Expr
		switch x := e.(type) {
		case *ast.LogicalOpExpr:
			x.Rhs = r.expr(x.Rhs)
			lhs = &x.Lhs
		case *ast.ArithmeticOpExpr:
			r.operand(x.Line(), x.Rhs)
			r.operand(x.Line(), x.Lhs)
			x.Rhs = r.expr(x.Rhs)
			lhs = &x.Lhs
		default:
			return
		}
		if !leansLeft(*lhs) {
			constant := isConstant(*lhs)
			*lhs = r.expr(*lhs)
			if _, logical := e.(*ast.LogicalOpExpr); logical && constant {
				// A condition that a constant decides has no code except a jump, and a loop may
				// begin with it (see body).
				*lhs = r.call(*lhs, "spread", *lhs)
			}
			return
		}
		e = *lhs
	}
}

// isConstant reports whether the value of an expression is known in advance.
func isConstant(e ast.Expr) bool {
	switch e.(type) {
	case *ast.FalseExpr, *ast.NilExpr, *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
		return true
	}
	return false
}

// leansLeft reports whether an operand is an operator that chain continues with.
func leansLeft(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		return true
	case *ast.ArithmeticOpExpr:
		return e.Operator != "%"
	}
	return false
}

// concat turns a chain of concatenations into one call.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	var parts []ast.Expr
	var rest ast.Expr = e
	for {
		c, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		parts = append(parts, c.Lhs)
		rest = c.Rhs
		if len(parts) > syntaxDepthMax {
			panic(&syntaxError{e.Line(), "chunk has too many syntax levels"})
		}
	}
	parts = append(parts, rest)
	descs := make([]string, len(parts))
	for i, p := range parts {
		descs[i] = r.describe(p)
		p = r.expr(p)
		if c, ok := p.(*ast.FuncCallExpr); ok {
			c.AdjustRet = true
		} else if c, ok := p.(*ast.Comma3Expr); ok {
			c.AdjustRet = true
		}
		parts[i] = p
	}
	args := append([]ast.Expr{r.text(e, strings.Join(descs, "|"))}, parts...)
	return r.call(e, "concat", args...)
}

// index leaves reads of a short constant field to the interpreter: they cost the same for every
// value.
func (r *rewriter) index(e *ast.AttrGetExpr) ast.Expr {
	desc := r.describe(e.Object)
	switch k := e.Key.(type) {
	case *ast.StringExpr:
		if len(k.Value) > nameMax {
			break
		}
		r.names.index(e.Line(), k.Value, desc)
		r.constant(e.Line(), k.Value)
		e.Object = r.expr(e.Object)
		return e
	case *ast.NumberExpr:
		r.literal(k)
		e.Object = r.expr(e.Object)
		return e
	}
	return r.call(e, "get", r.expr(e.Object), r.single(e.Key), r.text(e, desc))
}

// single rewrites an expression of which one value is used.
func (r *rewriter) single(e ast.Expr) ast.Expr {
	e = r.expr(e)
	switch c := e.(type) {
	case *ast.FuncCallExpr:
		c.AdjustRet = true
	case *ast.Comma3Expr:
		c.AdjustRet = true
	}
	return e
}

// isCheap reports whether a comparison with this constant is cheap.
func isCheap(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.NumberExpr, *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr:
		return true
	case *ast.StringExpr:
		return len(e.Value) <= 64
	}
	return false
}

var relations = map[string]string{"==": "eq", "~=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

func (r *rewriter) relation(e *ast.RelationalOpExpr) ast.Expr {
	if isCheap(e.Lhs) || isCheap(e.Rhs) {
		return e
	}
	for _, side := range []ast.Expr{e.Lhs, e.Rhs} {
		switch c := side.(type) {
		case *ast.FuncCallExpr:
			c.AdjustRet = true
		case *ast.Comma3Expr:
			c.AdjustRet = true
		}
	}
	return r.call(e, relations[e.Operator], e.Lhs, e.Rhs)
}

// table charges for a constructor. If the last element has many values, the intrinsic sets them.
func (r *rewriter) table(e *ast.TableExpr) ast.Expr {
	positional, named := 0, 0
	var last ast.Expr
	for i, f := range e.Fields {
		if f.Key == nil && i == len(e.Fields)-1 && isMulti(f.Value) {
			last = r.exprs([]ast.Expr{f.Value})[0]
			e.Fields = e.Fields[:i]
			break
		}
		if f.Key == nil {
			positional++
		} else {
			named++
			f.Key = r.key(f.Key)
		}
		f.Value = r.single(f.Value)
	}
	if last != nil {
		return r.call(e, "fill", e, number(e, positional), number(e, named), last)
	}
	return r.call(e, "table", e, number(e, positional), number(e, named))
}

// key charges for a key of a constructor, unless all such keys cost the same.
func (r *rewriter) key(e ast.Expr) ast.Expr {
	s, isText := e.(*ast.StringExpr)
	_, isNumber := e.(*ast.NumberExpr)
	short := isNumber || isText && len(s.Value) <= nameMax
	if e = r.single(e); short {
		return e
	}
	return r.call(e, "key", e)
}

// function charges for a closure. The size of a closure is that of its upvalues.
func (r *rewriter) function(e *ast.FunctionExpr) ast.Expr {
	outer, loops, parameter := r.depth, r.loops, r.parameter
	r.loops, r.parameter = nil, ""
	if n := len(e.ParList.Names); n > 0 {
		r.parameter = e.ParList.Names[n-1]
	}
	s := newFunctionScope()
	r.push(s)
	r.declare(e.ParList.Names...)
	if e.ParList.HasVargs {
		r.declare("arg")
	}
	e.Stmts = r.block(e.Stmts)
	r.pop()
	r.depth, r.loops, r.parameter = outer, loops, parameter
	for _, l := range loops {
		l.closures = true
	}
	for _, name := range s.mentioned {
		r.mention(name)
	}
	if e.ParList.HasVargs && slices.Contains(s.mentioned, "arg") {
		rest := &ast.Comma3Expr{}
		rest.SetLine(e.Line())
		bind := &ast.LocalAssignStmt{Names: []string{"arg"}, Exprs: []ast.Expr{r.call(e, "arg", rest)}}
		bind.SetLine(e.Line())
		e.Stmts = append([]ast.Stmt{bind}, e.Stmts...)
	}
	return r.call(e, "closure", e, number(e, min(len(s.mentioned), 255)))
}
