package client

import (
	"slices"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
)

func TestRowsOfTheNodeAndHandlersMatchOneToOne(t *testing.T) {
	rows := map[string]bool{}
	for _, spec := range commands.All() {
		for _, s := range append([]*command.Spec{spec}, spec.Sub...) {
			if s.Scope != command.ScopeNode {
				if s.Run == nil && len(s.Sub) == 0 {
					t.Errorf("%s: runs nowhere", s.Name)
				}
				continue
			}
			rows[s.Name] = true
			// A container by itself runs only if its arity lets it.
			if handlers[s.Name].run == nil && s != execSpec && (len(s.Sub) == 0 || s.CheckArity(1)) {
				t.Errorf("%s: a row without a handler", s.Name)
			}
		}
	}
	for name := range handlers {
		if !rows[name] {
			t.Errorf("%s: a handler without a row", name)
		}
	}
	for _, name := range slices.Concat(light, waiting) {
		if handlers[name].run == nil {
			t.Errorf("%s: is light, or waits, and is nothing", name)
		}
	}
}

func TestPasswordsStayOutOfTheSlowLog(t *testing.T) {
	for _, c := range []struct{ given, want []string }{
		{[]string{"AUTH", "secret"}, []string{"AUTH", "(redacted)"}},
		{[]string{"AUTH", "me", "secret"}, []string{"AUTH", "(redacted)", "(redacted)"}},
		{[]string{"HELLO", "3", "AUTH", "me", "secret", "SETNAME", "x"}, []string{"HELLO", "3", "AUTH", "(redacted)", "(redacted)", "SETNAME", "x"}},
		{[]string{"config", "set", "timeout", "1", "RequirePass", "secret"}, []string{"config", "set", "timeout", "1", "RequirePass", "(redacted)"}},
		{[]string{"SET", "auth", "secret"}, []string{"SET", "auth", "secret"}},
	} {
		var args [][]byte
		for _, a := range c.given {
			args = append(args, []byte(a))
		}
		spec, _ := commands.Lookup(args)
		if got := slowArgs(spec, args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.given, got)
		}
	}
}

func TestALongCommandIsClippedInTheSlowLog(t *testing.T) {
	args := [][]byte{[]byte("MSET"), make([]byte, 1000)}
	for range 99 {
		args = append(args, []byte("x"))
	}
	spec, _ := commands.Lookup(args)
	got := slowArgs(spec, args)
	if len(got) != slowArgsMax || got[slowArgsMax-1] != "... (70 more arguments)" || len(got[1]) != slowArgMax+len("... (872 more bytes)") {
		t.Errorf("%d: %q", len(got), got)
	}
}

func TestTheSlowLogKeepsTheNewest(t *testing.T) {
	var l Slowlog
	for i := range int64(10) {
		l.add(SlowEntry{Usec: i}, 3)
	}
	var ids []int64
	for _, e := range l.Get(-1) {
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, []int64{9, 8, 7}) || l.Len() != 3 || len(l.Get(2)) != 2 {
		t.Error(ids)
	}
	l.add(SlowEntry{}, 1)
	if l.Len() != 1 {
		t.Error("a shorter log keeps", l.Len())
	}
}
