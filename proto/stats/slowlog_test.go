package stats

import (
	"slices"
	"testing"

	"lockstep/engine/command"
)

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
		spec, _ := command.Lookup(args)
		if got := SlowArgs(spec, args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.given, got)
		}
	}
}

func TestALongCommandIsClippedInTheSlowLog(t *testing.T) {
	args := [][]byte{[]byte("MSET"), make([]byte, 1000)}
	for range 99 {
		args = append(args, []byte("x"))
	}
	spec, _ := command.Lookup(args)
	got := SlowArgs(spec, args)
	if len(got) != slowArgsMax || got[slowArgsMax-1] != "... (70 more arguments)" || len(got[1]) != slowArgMax+len("... (872 more bytes)") {
		t.Errorf("%d: %q", len(got), got)
	}
}

func TestTheSlowLogKeepsTheNewest(t *testing.T) {
	var l Slowlog
	for i := range int64(10) {
		l.Add(SlowEntry{Usec: i}, 3)
	}
	var ids []int64
	for _, e := range l.Get(-1) {
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, []int64{9, 8, 7}) || l.Len() != 3 || len(l.Get(2)) != 2 {
		t.Error(ids)
	}
	l.Add(SlowEntry{}, 1)
	if l.Len() != 1 {
		t.Error("a shorter log keeps", l.Len())
	}
}
