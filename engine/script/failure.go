package script

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// final is the text of the error that ended a script, and its place.
func (r *run) final(err error) string {
	var ae *lua.ApiError
	switch {
	case err == nil:
		// The script ended well, but its reply did not.
		return "ERR " + r.over.Error()
	case r.over == nil && !errors.As(err, &ae):
		return "ERR " + err.Error()
	}
	if r.line == 0 {
		// A function of Redis's own was called directly.
		return r.failure(err)
	}
	return fmt.Sprintf("%s script: %s, on %s:%d.", r.failure(err), r.title, r.origin(), r.line)
}

// origin is the text that contains the newest error. Redis calls a text that was loaded by the name
// of that text.
func (r *run) origin() string {
	if c, ok := r.loaded[r.source]; ok {
		return cText(c.name)
	}
	return "@" + r.chunk
}

// namesThere are the names in the text that contains the newest error.
func (r *run) namesThere() *names {
	if c, ok := r.loaded[r.source]; ok {
		return c.names
	}
	return r.names
}

// unplaced removes the place from a library function's error in the cases where Lua gives none: if
// the library called the function, which then has no name either, and if Lua itself puts a place
// before the error.
func (r *run) unplaced(L *lua.LState, text string) string {
	rest, placed := strings.CutPrefix(text, fmt.Sprintf("%s:%d: ", r.source, r.line))
	if !placed {
		// The library's function was called by pcall, in a thread of its own.
		rest, placed = strings.CutPrefix(text, " ")
	}
	if !placed || !inLibrary(L, 0) {
		return text
	}
	switch {
	case inLibrary(L, 1):
		if first, what, ok := strings.Cut(rest, "' ("); ok && strings.HasPrefix(first, "bad argument #") {
			at := strings.IndexByte(first, '\'')
			return first[:at+1] + "?' (" + what
		}
		return rest
	case strings.HasPrefix(rest, "attempt to "), strings.HasPrefix(rest, "table index is "), strings.HasPrefix(rest, "Attempt to modify "), strings.HasPrefix(rest, "invalid key to "):
		return rest
	}
	return text
}

// inLibrary reports whether a function of the library runs at a level of the stack.
func inLibrary(L *lua.LState, level int) bool {
	f := runs(L, level)
	return f != nil && f.IsG && !isIntrinsic[f]
}

// calledKind is the type of the value that the innermost function called and that is not a
// function. If the type is not known it is nil, which is the most likely one.
func (r *run) calledKind(L *lua.LState, desc string) string {
	v := lua.LValue(lua.LNil)
	where, name, _ := strings.Cut(strings.TrimSuffix(desc, "'"), " '")
	dbg, ok := L.GetStack(0)
	switch {
	case !ok:
	case where == "global":
		v = r.space.globals.RawGetString(name)
	case where == "upvalue":
		if f := runs(L, 0); f != nil && f.Proto != nil {
			for i, upvalue := range f.Proto.DbgUpvalues {
				if upvalue == name && i < len(f.Upvalues) {
					v = f.Upvalues[i].Value()
				}
			}
		}
	case where == "local":
		for i := 1; ; i++ {
			local, value := L.GetLocal(dbg, i)
			if local == "" {
				break
			}
			if local == name {
				v = value
			}
		}
	}
	if v.Type() == lua.LTFunction {
		return "nil"
	}
	return v.Type().String()
}

// failure is the text of an error.
func (r *run) failure(err error) string {
	if r.stopped {
		return "ERR " + r.over.Error()
	}
	if r.over != nil {
		return fmt.Sprintf("ERR %s:%d: %s", r.chunk, r.line, r.over)
	}
	text := "ERR unknown error"
	switch v := object(err).(type) {
	case *lua.LTable:
		if s, ok := v.RawGetString("err").(lua.LString); ok {
			text = string(s)
		}
	default:
		text = "ERR " + string(tostring(v))
	}
	return strings.TrimRight(cText(text), "\r\n")
}

// inLua turns an error of the interpreter into Lua's words.
func (r *run) inLua(L *lua.LState, text string) string {
	if r.names == nil || len(text) >= 4096 {
		return text
	}
	return r.namesThere().translate(text, r.line, func(desc string) string { return r.calledKind(L, desc) })
}

// The interpreter's error texts for a full stack.
const (
	textCalls     = "stack overflow"
	textRegisters = "registry overflow"
)

// overflow names the bound in an error about a full stack.
func (r *run) overflow(text string, calls int) string {
	where, registers := strings.CutSuffix(text, textRegisters)
	if registers {
		// To report this the interpreter may have used one more level than there are. In another
		// interpreter the same run would end earlier.
		r.inst.worn = true
	}
	full := text == textCalls || strings.HasSuffix(text, ": "+textCalls)
	switch {
	case r.loading != nil:
		// The bounds of loading a library are not settings.
	case registers:
		return where + textCalls + " (too many values)"
	case full && calls < r.limits.CallDepth:
		return fmt.Sprintf("%s (%d calls in a coroutine)", text, calls)
	case full:
		return fmt.Sprintf("%s (script-max-call-depth %d)", text, calls)
	}
	return text
}
