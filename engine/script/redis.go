package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// redisLibrary is the part of the table redis that scripts and functions share. Scripts also have
// scriptsOnly. A library that is being loaded has loadLibrary.
var redisLibrary, scriptsOnly, loadLibrary []entry

func init() {
	redisLibrary = []entry{
		{"call", func(L *lua.LState) int { return redisCall(L, true) }},
		{"pcall", func(L *lua.LState) int { return redisCall(L, false) }},
		{"error_reply", redisErrorReply}, {"status_reply", redisStatusReply}, {"sha1hex", redisSHA1},
		{"log", redisLog}, {"setresp", redisSetResp}, {"set_repl", redisSetRepl}, {"acl_check_cmd", redisACL},
	}
	scriptsOnly = []entry{
		{"breakpoint", func(L *lua.LState) int { return boolean(L, false) }},
		{"debug", func(*lua.LState) int { return 0 }},
		{"replicate_commands", func(L *lua.LState) int { return boolean(L, true) }},
	}
	loadLibrary = []entry{{"register_function", registerFunction}, {"log", redisLog}}
}

// raise raises an error as redis's own functions do: a table with err.
func (m *meter) raise(L *lua.LState, text string) {
	L.Error(m.errorTable(L, "ERR "+text, false), 1)
}

// commandsError is the field with which Redis marks the errors of commands.
const commandsError = "ignore_error_stats_update"

func (m *meter) errorTable(L *lua.LState, text string, called bool) *lua.LTable {
	m.use(L, tableCost+hashCost+len(text))
	m.spend(L, priceTable)
	t := L.CreateTable(0, 2)
	if called {
		t.RawSetString(commandsError, lua.LTrue)
	}
	t.RawSetString("err", lua.LString(text))
	return t
}

// commandArgs returns the arguments of redis.call as bytes, or nil if one of them is neither a
// string nor a number.
func commandArgs(L *lua.LState) [][]byte {
	n := L.GetTop()
	total := 0
	for i := 1; i <= n; i++ {
		if v := L.Get(i); isText(v) {
			total += textLength(v) + stringCost
		} else {
			return nil
		}
	}
	r := runOf(L)
	r.use(L, total)
	r.spend(L, n*priceArgument+total/bytesCopied)
	// The list is used again, but the bytes are not: the changes that the txn reports at its end
	// point into them.
	args, room := r.inst.args[:0], make([]byte, 0, total)
	for i := 1; i <= n; i++ {
		begin := len(room)
		switch v := L.Get(i).(type) {
		case lua.LString:
			room = append(room, v...)
		case lua.LNumber:
			room = appendG(room, float64(v), 17)
		}
		args = append(args, room[begin:len(room):len(room)])
	}
	r.inst.args = args
	return args
}

func redisCall(L *lua.LState, raises bool) int {
	r := runOf(L)
	fail := func(text string) int {
		t := r.errorTable(L, text, true)
		if raises {
			L.Error(t, 1)
		}
		L.Push(t)
		return 1
	}
	if L.GetTop() == 0 {
		return fail("ERR Please specify at least one argument for this redis lib call")
	}
	args := commandArgs(L)
	if args == nil {
		return fail("ERR Lua redis lib command arguments must be strings or integers")
	}
	r.spend(L, priceCommand)
	w := &r.inst.replies
	w.Reset(r.proto)
	r.spend(L, int(r.host.Call(args, r.work, int(r.bytes)+1, w)))
	if w.TooLong() {
		r.use(L, int(r.bytes)+1)
	}
	d := decoder{run: r, L: L, buf: w.Bytes()}
	if len(d.buf) > 0 && d.buf[0] == '-' {
		return fail(string(d.line()[1:]))
	}
	r.spend(L, len(d.buf)/bytesCopied)
	L.Push(d.value())
	return 1
}

// errOneText is the reply of error_reply and status_reply to anything except one text.
const errOneText = "ERR wrong number or type of arguments"

func redisErrorReply(L *lua.LState) int {
	m := meterOf(L)
	s, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(m.errorTable(L, errOneText, false))
		return 1
	}
	text := cText(string(s))
	// For Redis a text without a space has no code: it gets ERR.
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	m.spend(L, len(text))
	hasCode := false
	for i := 0; i < len(text); i++ {
		hasCode = hasCode || text[i] == ' '
	}
	if !hasCode {
		text = "ERR " + text
	}
	L.Push(m.errorTable(L, text, false))
	return 1
}

func redisStatusReply(L *lua.LState) int {
	m := meterOf(L)
	s, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(m.errorTable(L, errOneText, false))
		return 1
	}
	m.use(L, tableCost+hashCost)
	t := L.CreateTable(0, 1)
	t.RawSetString("ok", s)
	L.Push(t)
	return 1
}

func redisSHA1(L *lua.LState) int {
	m := meterOf(L)
	if L.GetTop() != 1 {
		m.raise(L, "wrong number of arguments")
	}
	var text []byte
	if isText(L.Get(1)) {
		text = appendText(nil, L.Get(1))
	}
	m.text(L, 40)
	m.spend(L, priceSHA1+len(text)*priceSHA1Byte)
	return pushText(L, SHA1(text))
}

// logMax is the most bytes of a text that redis.log logs, as in Redis.
const logMax = 1024

func redisLog(L *lua.LState) int {
	r := runOf(L)
	if L.GetTop() < 2 {
		r.raise(L, "redis.log() requires two arguments or more.")
	}
	n, ok := r.number(L, L.Get(1))
	if !ok {
		r.raise(L, "First argument must be a number (log level).")
	}
	level := toInt(n)
	if level < 0 || level > 3 {
		r.raise(L, "Invalid debug level.")
	}
	var text []byte
	for i := 2; i <= L.GetTop(); i++ {
		if i > 2 {
			text = append(text, ' ')
		}
		switch v := L.Get(i).(type) {
		case lua.LString:
			text = append(text, v[:min(len(v), logMax-min(len(text), logMax))]...)
		case lua.LNumber:
			text = appendText(text, v)
		}
	}
	r.spend(L, priceLog+L.GetTop()*priceArgument+len(text))
	if r.loading != nil {
		// A library is loaded again and again, so its messages are dropped.
		return 0
	}
	r.host.Log(level, string(text[:min(len(text), logMax)]))
	return 0
}

func redisSetResp(L *lua.LState) int {
	r := runOf(L)
	if L.GetTop() != 1 {
		r.raise(L, "redis.setresp() requires one argument.")
	}
	n, _ := r.number(L, L.Get(1))
	if n = math.Trunc(n); n != 2 && n != 3 {
		r.raise(L, "RESP version must be 2 or 3.")
	}
	r.proto = int(n)
	return 0
}

// redisSetRepl changes nothing: every effect of a script is in the log.
func redisSetRepl(L *lua.LState) int {
	m := meterOf(L)
	if L.GetTop() != 1 {
		m.raise(L, "redis.set_repl() requires two arguments.")
	}
	n, _ := m.number(L, L.Get(1))
	if flags := toInt(n); flags < 0 || flags > 3 {
		m.raise(L, "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

func redisACL(L *lua.LState) int {
	r := runOf(L)
	if L.GetTop() == 0 {
		r.raise(L, "Please specify at least one argument for this redis lib call")
	}
	args := commandArgs(L)
	if args == nil {
		r.raise(L, "Lua redis lib command arguments must be strings or integers")
	}
	allowed, known := r.host.MayCall(args)
	if !known {
		r.raise(L, "Invalid command passed to redis.acl_check_cmd()")
	}
	return boolean(L, allowed)
}
