package script_test

import (
	"bytes"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// newHost is a host with a keyspace of its own, as on a replica.
func newHost() *scriptcmd.Host {
	settings := command.DefaultSettings
	return &scriptcmd.Host{Ctx: &command.Ctx{
		KS:       engine.New(engine.Config{LockSlots: 64}),
		TxnNo:    1,
		Logged:   true,
		Commands: commands.Table(),
		Times:    command.Times{NowMs: 1_700_000_000_000},
		Meter:    command.Meter{Settings: &settings},
	}}
}

// eval runs a script and returns the bytes of its reply.
func eval(t testing.TB, e *script.Interpreters, h script.Host, proto int, limits *script.Limits, source string, keys, args []string) []byte {
	t.Helper()
	out := reply.NewWriter(proto)
	s, err := script.Compile([]byte(source), limits)
	if err != nil {
		out.Error(err.Error())
		return out.Bytes()
	}
	if h, ok := h.(*scriptcmd.Host); ok {
		h.ReadOnly = s.Header.Flags&script.NoWrites != 0
		h.KeyLocking = s.Header.Flags&script.AllowKeyLocking != 0
		h.Keys = byteList(keys)
	}
	e.Run(s, &script.Run{Keys: byteList(keys), Args: byteList(args), Host: h, Limits: limits}, out)
	return bytes.Clone(out.Bytes())
}

func byteList(list []string) [][]byte {
	var out [][]byte
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

// TestKeysMustBeDeclaredUnderKeyLocking: the flag forbids undeclared keys, computed or not, by call
// or pcall. Without the flag any key may be used (D19, D20, D21, D22, B21, B22, B24).
func TestKeysMustBeDeclaredUnderKeyLocking(t *testing.T) {
	const flag = "#!lua flags=allow-key-locking\n"
	for _, c := range []struct{ source, want string }{
		{`return redis.call('set', KEYS[1], 1)`, "+OK"},
		{`return redis.call('set', 'k' .. 1, 1)`, "+OK"},
		{`return redis.call('set', 'other', 1)`, "-ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set. Key was: other"},
		{`return redis.pcall('mset', KEYS[1], 1, 'other', 1)`, "-ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set. Key was: other"},
		{`return redis.call('get', ARGV[1])`, "-ERR Dynamic keys are not allowed"},
		{`return redis.call('flushall')`, "-ERR This Redis command is not allowed from script"},
		{`return redis.call('dbsize')`, "-ERR This Redis command is not allowed from script"},
	} {
		var e script.Interpreters
		got := eval(t, &e, newHost(), reply.RESP2, &small, flag+c.source, []string{"k1", "k2"}, []string{"a"})
		if !bytes.HasPrefix(got, []byte(c.want)) {
			t.Errorf("%s\n got %q\nwant %q", c.source, got, c.want)
		}
	}
	var e script.Interpreters
	if got := eval(t, &e, newHost(), reply.RESP2, &small, flag[:len(flag)-1]+",no-writes\nreturn redis.call('set', KEYS[1], 1)", []string{"k1"}, nil); !bytes.HasPrefix(got, []byte("-ERR Write commands are not allowed")) {
		t.Errorf("%q", got)
	}
	if got := eval(t, &e, newHost(), reply.RESP2, &small, "redis.call('select', 3) redis.call('flushall') return redis.call('dbsize')", nil, nil); string(got) != ":0\r\n" {
		t.Errorf("without the flag: %q", got)
	}
}
