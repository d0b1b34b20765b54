package client

import (
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// TestATableIsWholeOrThereIsNone: a row without a handler or with two, or a handler without a row,
// ends the program at its start. Package admin tests that the program's own table is complete.
func TestATableIsWholeOrThereIsNone(t *testing.T) {
	nothing := func(*Request, [][]byte) {}
	for _, c := range []struct {
		given Handlers
		says  string
	}{
		{nil, "has no handler"},
		{Handlers{"ping": nothing}, "ping has two handlers"},
		{Handlers{"get": nothing}, "there is no row for the handler of get"},
		{Handlers{"no such thing": nothing}, "there is no row for the handler of no such thing"},
	} {
		if said := panicOf(func() { NewTable(c.given) }); !strings.Contains(said, c.says) {
			t.Errorf("with %v: it says %q, not that %s", c.given, said, c.says)
		}
	}
}

func panicOf(f func()) (said string) {
	defer func() { said, _ = recover().(string) }()
	f()
	return ""
}

func TestARowRunsSomewhere(t *testing.T) {
	for _, spec := range commands.All() {
		for _, s := range append([]*command.Spec{spec}, spec.Sub...) {
			if s.Scope != command.ScopeNode && s.Run == nil && len(s.Sub) == 0 {
				t.Errorf("%s: runs nowhere", s.Name)
			}
		}
	}
}
