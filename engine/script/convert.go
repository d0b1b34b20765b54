package script

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"lockstep/engine/reply"
)

// decoder converts a reply to Lua values.
type decoder struct {
	run *run
	L   *lua.LState
	buf []byte
	at  int
}

func (d *decoder) line() []byte {
	end := bytes.IndexByte(d.buf[d.at:], '\r')
	l := d.buf[d.at : d.at+end]
	d.at += end + 2
	return l
}

func (d *decoder) bulk(n int) lua.LString {
	d.run.text(d.L, n)
	s := lua.LString(d.buf[d.at : d.at+n])
	d.at += n + 2
	return s
}

// one returns a table with one field.
func (d *decoder) one(name string, v lua.LValue) lua.LValue {
	d.run.use(d.L, tableCost+hashCost)
	t := d.L.CreateTable(0, 1)
	t.RawSetString(name, v)
	return t
}

func (d *decoder) value() lua.LValue {
	l := d.line()
	body := l[1:]
	n, _ := strconv.ParseInt(string(body), 10, 64)
	switch l[0] {
	case ':':
		return lua.LNumber(n)
	case '+':
		return d.one("ok", lua.LString(body))
	case '-':
		return d.run.errorTable(d.L, string(body), true)
	case '$':
		if n < 0 {
			return lua.LFalse
		}
		return d.bulk(int(n))
	case '*', '>':
		if n < 0 {
			return lua.LFalse
		}
		return d.array(int(n))
	case '_':
		return lua.LNil
	case '#':
		return lua.LBool(string(body) == "t")
	case ',':
		f, _ := parseNumber(string(body))
		return d.one("double", lua.LNumber(f))
	case '(':
		return d.one("big_number", lua.LString(body))
	case '=':
		s := d.bulk(int(n))
		t := d.one("format", s[:3]).(*lua.LTable)
		t.RawSetString("string", s[4:])
		return d.one("verbatim_string", t)
	case '%':
		t := d.pairs(int(n), true)
		return d.one("map", t)
	case '~':
		t := d.pairs(int(n), false)
		return d.one("set", t)
	}
	return lua.LNil
}

func (d *decoder) array(n int) lua.LValue {
	d.run.charge(d.L, n, 0)
	d.run.spend(d.L, priceTable)
	t := d.L.CreateTable(n, 0)
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, d.value())
	}
	trim(t, n)
	return t
}

func (d *decoder) pairs(n int, isMap bool) *lua.LTable {
	d.run.use(d.L, tableCost)
	t := d.L.CreateTable(0, 0)
	for range n {
		k := d.value()
		v := lua.LValue(lua.LTrue)
		if isMap {
			v = d.value()
		}
		if k != lua.LNil {
			d.run.put(d.L, t, k, v)
		}
	}
	return t
}

var errReplyEnds = errors.New("script: the reply ends here")

// writeReply writes a script's return value. If that exceeds a bound it sets over.
func (r *run) writeReply(L *lua.LState, out *reply.Writer, v lua.LValue) {
	e := encoder{run: r, L: L, out: out, start: out.Len()}
	defer func() {
		if r := recover(); r != nil && r != any(errReplyEnds) {
			panic(r)
		}
	}()
	e.value(v, 0)
}

type encoder struct {
	run   *run
	L     *lua.LState
	out   *reply.Writer
	start int
}

// room ends the reply if n more bytes are too many.
func (e *encoder) room(n int) {
	if e.out.Len()-e.start+n > e.run.limits.ReplyBytes {
		e.run.end(overReply(e.run.limits))
		panic(errReplyEnds)
	}
}

// spend charges n units of work.
func (e *encoder) spend(n int) {
	if e.run.count(n); e.run.over != nil {
		panic(errReplyEnds)
	}
}

func (e *encoder) value(v lua.LValue, depth int) {
	e.room(0)
	e.spend(priceReply)
	switch v := v.(type) {
	case lua.LString:
		e.room(len(v))
		e.spend(len(v) / bytesCopied)
		e.out.BulkString(string(v))
	case lua.LNumber:
		e.out.Int(toInt64(float64(v)))
	case lua.LBool:
		e.bool(bool(v))
	case *lua.LTable:
		if depth > replyDepthMax {
			e.out.Error("ERR reached lua stack limit")
			return
		}
		e.table(v, depth)
	default:
		e.out.Null()
	}
}

// bool writes true as 1 and false as null for a script that spoke RESP2.
func (e *encoder) bool(b bool) {
	switch {
	case e.run.proto == reply.RESP3:
		e.out.Bool(b)
	case b:
		e.out.Int(1)
	default:
		e.out.Null()
	}
}

// cText is a text up to its first zero byte, as in C.
func cText(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

func field(t *lua.LTable, name string) lua.LValue { return t.RawGetString(name) }

func (e *encoder) table(t *lua.LTable, depth int) {
	if s, ok := field(t, "err").(lua.LString); ok {
		e.room(len(s))
		e.out.Error(cText(string(s)))
		return
	}
	if s, ok := field(t, "ok").(lua.LString); ok {
		e.room(len(s))
		e.out.Status(cText(string(s)))
		return
	}
	if f, ok := field(t, "double").(lua.LNumber); ok {
		e.out.Double(float64(f))
		return
	}
	if m, ok := field(t, "map").(*lua.LTable); ok {
		e.pairs(m, depth, true)
		return
	}
	if s, ok := field(t, "set").(*lua.LTable); ok {
		e.pairs(s, depth, false)
		return
	}
	if s, ok := field(t, "big_number").(lua.LString); ok {
		e.room(len(s))
		e.bigNumber(string(s))
		return
	}
	if v, ok := field(t, "verbatim_string").(*lua.LTable); ok {
		s, ok1 := field(v, "string").(lua.LString)
		f, ok2 := field(v, "format").(lua.LString)
		if ok1 && ok2 {
			e.room(len(s))
			const room = "   "
			e.out.Verbatim((cText(string(f)) + room)[:len(room)], string(s))
			return
		}
	}
	start, n := e.out.Len(), 0
	for v := e.run.at(t, 1); v != lua.LNil; v = e.run.at(t, n+1) {
		n++
		e.value(v, depth+1)
	}
	e.out.ArrayFrom(start, n)
}

func (e *encoder) bigNumber(s string) {
	s = strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
	if e.out.Proto != reply.RESP3 {
		e.out.BulkString(s)
		return
	}
	e.out.Raw([]byte("(" + s + "\r\n"))
}

func (e *encoder) pairs(t *lua.LTable, depth int, isMap bool) {
	if w := e.run.walkOf(t); w != nil {
		e.spend(2 * w.holes * priceHole) // the keys are counted first, and then written
	}
	e.spend(t.Len() * priceSkip) // one element may follow thousands of nils, and a reply may repeat the table
	n := 0
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		n++
		e.spend(priceNext)
	}
	if isMap {
		e.out.Map(n)
	} else {
		e.out.Set(n)
	}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		e.value(k, depth+1)
		if isMap {
			e.value(v, depth+1)
		}
	}
}
