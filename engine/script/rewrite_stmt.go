package script

import "github.com/yuin/gopher-lua/ast"

func (r *rewriter) block(list []ast.Stmt) []ast.Stmt {
	r.push(&scope{})
	out := r.stmts(list)
	r.pop()
	return out
}

func (r *rewriter) stmts(list []ast.Stmt) []ast.Stmt {
	out := make([]ast.Stmt, 0, len(list))
	for _, s := range list {
		r.enter(s.Line())
		out = r.stmt(out, s)
		r.depth--
	}
	return out
}

// stmt rewrites a statement and appends the result.
func (r *rewriter) stmt(out []ast.Stmt, s ast.Stmt) []ast.Stmt {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return append(out, r.assign(s))
	case *ast.LocalAssignStmt:
		return r.local(out, s)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.single(s.Condition)
		s.Stmts = r.body(s.Stmts, s.Line(), nil)
	case *ast.RepeatStmt:
		// The condition sees the locals of the body.
		s.Stmts = r.body(s.Stmts, s.Line(), func() { s.Condition = r.single(s.Condition) })
	case *ast.IfStmt:
		r.branches(s)
	case *ast.NumberForStmt:
		r.numberFor(s)
	case *ast.GenericForStmt:
		r.genericFor(s)
	case *ast.FuncDefStmt:
		return append(out, r.define(s))
	case *ast.ReturnStmt:
		s.Exprs = r.exprs(s.Exprs)
	case *ast.BreakStmt:
		r.recordBreak()
	case *ast.LabelStmt, *ast.GotoStmt:
		// Lua 5.1 has no goto.
		panic(&syntaxError{s.Line(), "'=' expected near 'goto'"})
	}
	return append(out, s)
}

// branches follows a chain of elseif, which is nested only in the tree.
func (r *rewriter) branches(s *ast.IfStmt) {
	for n := 0; ; n++ {
		if n > chainMax {
			panic(&syntaxError{s.Line(), "chunk has too many syntax levels"})
		}
		s.Condition = r.single(s.Condition)
		s.Then = r.block(s.Then)
		if len(s.Else) == 1 {
			if next, ok := s.Else[0].(*ast.IfStmt); ok {
				s = next
				continue
			}
		}
		s.Else = r.block(s.Else)
		return
	}
}

func (r *rewriter) numberFor(s *ast.NumberForStmt) {
	s.Init = r.single(s.Init)
	s.Limit = r.call(s.Limit, "number", r.single(s.Limit), r.text(s.Limit, "limit"))
	s.Init = r.call(s.Init, "number", s.Init, r.text(s.Init, "initial"))
	if s.Step != nil {
		s.Step = r.call(s.Step, "number", r.single(s.Step), r.text(s.Step, "step"))
	}
	r.push(&scope{names: []string{s.Name}})
	s.Stmts = r.body(s.Stmts, s.Line(), nil)
	r.pop()
}

// genericFor gives a loop all of its three first values. The interpreter leaves missing values
// unchanged, and asks a call for as many values as the loop has names.
func (r *rewriter) genericFor(s *ast.GenericForStmt) {
	last, given := s.Exprs[len(s.Exprs)-1], len(s.Exprs)
	if isMulti(last) {
		for i := len(s.Names); i < min(given, 3); i++ {
			s.Names = append(s.Names, hidden+"n"+string(rune('0'+i)))
		}
	} else {
		for ; given < 3; given++ {
			none := &ast.NilExpr{}
			none.SetLine(s.Line())
			s.Exprs = append(s.Exprs, none)
		}
	}
	s.Exprs = r.exprs(s.Exprs)
	r.push(&scope{names: s.Names})
	s.Stmts = r.body(s.Stmts, s.Line(), nil)
	r.pop()
}

// loop is a loop that is being rewritten.
type loop struct {
	// scopes is how many scopes there are in its body. closures is set if a function was made in
	// the body. cut is set if break leaves an inner block that may share variables with a closure.
	scopes        int
	closures, cut bool
}

// body rewrites the body of a loop.
func (r *rewriter) body(list []ast.Stmt, line int, condition func()) []ast.Stmt {
	l := &loop{scopes: len(r.scopes) + 1}
	r.loops = append(r.loops, l)
	r.push(&scope{})
	list = r.stmts(list)
	if condition != nil {
		condition()
	}
	r.pop()
	r.loops = r.loops[:len(r.loops)-1]
	switch {
	case l.cut:
		return append(shared(line), list...)
	case len(list) > 0 && jumps(list[0]):
		return append([]ast.Stmt{&ast.DoBlockStmt{Stmts: shared(line)[:1]}}, list...)
	}
	return list
}

// recordBreak records a break. The interpreter detaches closures from the variables of the loop's own
// block, if it has any, but not from those of inner blocks.
func (r *rewriter) recordBreak() {
	if n := len(r.loops); n > 0 {
		l := r.loops[n-1]
		l.cut = l.cut || l.closures && len(r.scopes) > l.scopes
	}
}

// shared declares a variable of a loop's block for a closure that is never made. So all closures
// are detached when the loop is left. It also stands at the start of a loop that would otherwise
// begin with a jump, because the interpreter goes to a wrong place if it jumps back onto a jump.
func shared(line int) []ast.Stmt {
	declare := &ast.LocalAssignStmt{Names: []string{hidden}}
	declare.SetLine(line)
	name := &ast.IdentExpr{Value: hidden}
	name.SetLine(line)
	back := &ast.ReturnStmt{Exprs: []ast.Expr{name}}
	back.SetLine(line)
	fn := &ast.FunctionExpr{ParList: &ast.ParList{}, Stmts: []ast.Stmt{back}}
	fn.SetLine(line)
	fn.SetLastLine(line)
	made := &ast.LocalAssignStmt{Names: []string{hidden + "f"}, Exprs: []ast.Expr{fn}}
	made.SetLine(line)
	never := &ast.IfStmt{Condition: name, Then: []ast.Stmt{made}}
	never.SetLine(line)
	return []ast.Stmt{declare, never}
}

// jumps reports whether a statement begins with a jump.
func jumps(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.BreakStmt:
		return true
	case *ast.DoBlockStmt:
		return len(s.Stmts) > 0 && jumps(s.Stmts[0])
	case *ast.IfStmt:
		return jumpsBy(s.Condition)
	case *ast.WhileStmt:
		return jumpsBy(s.Condition)
	case *ast.RepeatStmt:
		return len(s.Stmts) > 0 && jumps(s.Stmts[0])
	case *ast.LocalAssignStmt:
		return len(s.Exprs) > 0 && jumpsBy(s.Exprs[0])
	case *ast.AssignStmt:
		return jumpsBy(s.Rhs[0])
	case *ast.ReturnStmt:
		return len(s.Exprs) > 0 && jumpsBy(s.Exprs[0])
	}
	return false
}

// local: "local function f" may call itself, "local f = function" may not. In the tree only the
// last line tells them apart.
func (r *rewriter) local(out []ast.Stmt, s *ast.LocalAssignStmt) []ast.Stmt {
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if fn, ok := s.Exprs[0].(*ast.FunctionExpr); ok && s.LastLine() != 0 {
			declare := &ast.LocalAssignStmt{Names: s.Names}
			declare.SetLine(s.Line())
			r.declare(s.Names...)
			set := &ast.AssignStmt{Lhs: []ast.Expr{ident(fn, s.Names[0])}, Rhs: []ast.Expr{r.function(fn)}}
			set.SetLine(s.Line())
			return append(out, declare, set)
		}
	}
	s.Exprs = r.exprs(s.Exprs)
	r.declare(s.Names...)
	return append(out, s)
}

func ident(at ast.Expr, name string) ast.Expr {
	e := &ast.IdentExpr{Value: name}
	e.SetLine(at.Line())
	return e
}

// assign sets fields through an intrinsic. If there are several targets, all expressions are
// evaluated first, as in the interpreter, and their values kept in local variables.
func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		if field, ok := s.Lhs[0].(*ast.AttrGetExpr); ok {
			return r.setField(field, r.single(s.Rhs[0]))
		}
	}
	anyField, toParameter := false, false
	for _, l := range s.Lhs {
		if id, ok := l.(*ast.IdentExpr); ok {
			r.identifier(id.Line(), id.Value)
			r.mention(id.Value)
			toParameter = toParameter || id.Value == r.parameter
		} else {
			anyField = true
		}
	}
	switch {
	case anyField, len(s.Lhs)+len(s.Rhs) > 2:
		// The interpreter mixes values up if only some of them are calls.
		return r.assignMany(s)
	case chooses(s.Rhs[0]):
		// The interpreter prepares the operands of "and" and "or" in the place of the variable,
		// which may be one of the operands.
		return r.assignMany(s)
	}
	s.Rhs = r.exprs(s.Rhs)
	if toParameter {
		r.elsewhere(s.Rhs[0])
	}
	return s
}

// chooses reports whether "and" or "or" is part of an expression's value.
func chooses(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		return true
	case *ast.RelationalOpExpr:
		return chooses(e.Lhs) || chooses(e.Rhs)
	case *ast.ArithmeticOpExpr:
		return chooses(e.Lhs) || chooses(e.Rhs)
	case *ast.StringConcatOpExpr:
		return chooses(e.Lhs) || chooses(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		return chooses(e.Expr)
	case *ast.UnaryNotOpExpr:
		return chooses(e.Expr)
	case *ast.UnaryLenOpExpr:
		return chooses(e.Expr)
	}
	return false
}

// elsewhere: a call with one value for the last parameter is prepared in the place of the parameter
// and of the registers behind it, which is wrong. A call with any number of values, which is then
// cut to one, is not.
func (r *rewriter) elsewhere(value ast.Expr) {
	if call, ok := value.(*ast.FuncCallExpr); ok && call.AdjustRet {
		call.AdjustRet = false
	}
}

// hidden begins the names of local variables that hold the values of an assignment. No script can
// spell them.
const hidden = "\x00"

func (r *rewriter) assignMany(s *ast.AssignStmt) ast.Stmt {
	var body []ast.Stmt
	bind := func(names []string, exprs []ast.Expr) {
		l := &ast.LocalAssignStmt{Names: names, Exprs: exprs}
		l.SetLine(s.Line())
		body = append(body, l)
	}
	var descs []string
	for i, l := range s.Lhs {
		desc := ""
		if field, ok := l.(*ast.AttrGetExpr); ok {
			desc = r.describe(field.Object)
			n := string(rune('a' + i%26))
			for range i / 26 {
				n += "_"
			}
			bind([]string{hidden + "o" + n, hidden + "k" + n}, []ast.Expr{r.single(field.Object), r.single(field.Key)})
		}
		descs = append(descs, desc)
	}
	values := make([]string, len(s.Lhs))
	for i := range values {
		values[i] = hidden + "v" + string(rune('a'+i%26))
		for range i / 26 {
			values[i] += "_"
		}
	}
	bind(values, r.exprs(s.Rhs))
	for i := len(s.Lhs) - 1; i >= 0; i-- {
		v := ident(s.Lhs[i], values[i])
		if _, ok := s.Lhs[i].(*ast.AttrGetExpr); ok {
			n := values[i][len(hidden)+1:]
			set := r.call(s.Lhs[i], "set", ident(v, hidden+"o"+n), ident(v, hidden+"k"+n), v, r.text(v, descs[i]))
			body = append(body, statement(set))
			continue
		}
		a := &ast.AssignStmt{Lhs: []ast.Expr{s.Lhs[i]}, Rhs: []ast.Expr{v}}
		a.SetLine(s.Line())
		body = append(body, a)
	}
	do := &ast.DoBlockStmt{Stmts: body}
	do.SetLine(s.Line())
	return do
}

func statement(c *ast.FuncCallExpr) ast.Stmt {
	c.AdjustRet = false
	st := &ast.FuncCallStmt{Expr: c}
	st.SetLine(c.Line())
	return st
}

func (r *rewriter) setField(field *ast.AttrGetExpr, value ast.Expr) ast.Stmt {
	desc := r.describe(field.Object)
	return statement(r.call(field, "set", r.single(field.Object), r.single(field.Key), value, r.text(field, desc)))
}

// define is "function a.b:c()".
func (r *rewriter) define(s *ast.FuncDefStmt) ast.Stmt {
	name := s.Name
	if name.Func == nil {
		s.Func.ParList.Names = append([]string{"self"}, s.Func.ParList.Names...)
		field := &ast.AttrGetExpr{Object: name.Receiver, Key: r.text(name.Receiver, name.Method)}
		field.SetLine(s.Line())
		return r.setField(field, r.function(s.Func))
	}
	fn := r.function(s.Func)
	if field, ok := name.Func.(*ast.AttrGetExpr); ok {
		return r.setField(field, fn)
	}
	if id, ok := name.Func.(*ast.IdentExpr); ok {
		r.identifier(s.Line(), id.Value)
		if id.Value == r.parameter {
			r.elsewhere(fn)
		}
	}
	a := &ast.AssignStmt{Lhs: []ast.Expr{name.Func}, Rhs: []ast.Expr{fn}}
	a.SetLine(s.Line())
	return a
}

// jumpsBy reports whether the code of an expression may begin with a jump. In a condition, a
// constant has no code of its own.
func jumpsBy(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryNotOpExpr:
		return jumpsBy(e.Expr)
	case *ast.LogicalOpExpr:
		return jumpsBy(e.Lhs)
	}
	return isConstant(e)
}
