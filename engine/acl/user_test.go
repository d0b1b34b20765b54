package acl

import (
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
)

func made(t *testing.T, rules string) *User {
	t.Helper()
	u := NewUser(false)
	for _, rule := range strings.Fields(rules) {
		next, err := u.Apply(rule, false)
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		u = next
	}
	return u
}

func judge(u *User, line string) command.Denial {
	var args [][]byte
	for _, word := range strings.Fields(line) {
		args = append(args, []byte(word))
	}
	spec, _ := commands.Lookup(args)
	return u.Judge(spec, args)
}

func TestWhoMayDoEverythingIsNotJudged(t *testing.T) {
	if !Read(DefaultRules).MayAll() {
		t.Error("the default user is judged")
	}
	for _, less := range []string{"-get", "resetkeys", "resetchannels", "-config|get", "-@write"} {
		if u := made(t, "~* &* +@all "+less); u.MayAll() {
			t.Errorf("%s: may do everything", less)
		}
	}
}

func TestTheDenialThatCameFurthestIsTold(t *testing.T) {
	u, err := made(t, "+get ~a").Apply("(+mget ~b)", false)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]command.Denial{
		"get a":    {},
		"get c":    {Reason: command.DeniedKey, Arg: 1},
		"mget b c": {Reason: command.DeniedKey, Arg: 2},
		"set a 1":  {Reason: command.DeniedCommand},
	} {
		if got := judge(u, line); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

// TestAWriterLearnsNoValue: commands that reveal a value, or whether a guess at it is right, need
// the right to read.
func TestAWriterLearnsNoValue(t *testing.T) {
	u := made(t, "%W~a +@all")
	for line, want := range map[string]command.Reason{
		"set a 1": command.Allowed, "set a 1 nx": command.Allowed, "set a 1 ex 10 xx": command.Allowed, "del a": command.Allowed,
		"set a 1 get": command.DeniedKey, "set a 1 ifeq 0": command.DeniedKey, "set a 1 px 5 IfEq 0": command.DeniedKey,
		"set a 1 ifeq 0 get": command.DeniedKey, "delifeq a 0": command.DeniedKey, "getdel a": command.DeniedKey, "getset a 1": command.DeniedKey,
		"getex a": command.DeniedKey, "hgetdel a fields 1 f": command.DeniedKey, "hgetex a fields 1 f": command.DeniedKey,
		"incr a": command.DeniedKey, "append a x": command.Allowed,
	} {
		if got := judge(u, line); got.Reason != want {
			t.Errorf("%s: %v, want %v", line, got.Reason, want)
		}
	}
}

func TestRulesAreBounded(t *testing.T) {
	if _, err := NewUser(false).Apply("~"+strings.Repeat("x", RulesBytesMax), false); err != ErrTooLong {
		t.Errorf("%v", err)
	}
}

// FuzzRulesReadBack: every accepted rule is written so that reading it back gives the same user,
// for logging in and for permissions.
func FuzzRulesReadBack(f *testing.F) {
	for _, seed := range []string{
		"on >p ~a* +@read -get", "nopass allkeys &x +config|get (+set %W~w ~*)", "%RW~* ~b +select|0 -select", "reset sanitize-payload #x ( +get )", "+@all -@dangerous &* ~*",
	} {
		f.Add(seed)
	}
	lines := []string{"get a", "set b 1", "config get x", "config set x y", "select 0", "publish x y", "psubscribe *", "flushall", "eval x 1 a"}
	f.Fuzz(func(t *testing.T, text string) {
		u := NewUser(false)
		words, _ := Merge(strings.Split(text, " "))
		for _, rule := range words {
			if next, err := u.Apply(rule, false); err == nil {
				u = next
			}
		}
		again := Read(u.Rules())
		if got, want := again.Rules(), u.Rules(); got != want {
			t.Fatalf("%q reads back as %q", want, got)
		}
		carried := Read(u.Permissions())
		for _, line := range lines {
			want := judge(u, line)
			if got := judge(again, line); got != want {
				t.Fatalf("%q: %s: %v, was %v", u.Rules(), line, got, want)
			}
			if got := judge(carried, line); got != want {
				t.Fatalf("%q: %s: carried %v, was %v", u.Rules(), line, got, want)
			}
		}
	})
}
