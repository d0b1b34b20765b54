package cmdtest

import (
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/values"
	"lockstep/engine/rdb"
)

// PayloadOf is a payload with a correct footer.
func PayloadOf(body string) []byte { return rdb.AppendFooter([]byte(body), 0) }

// Restored dumps an entry and restores it.
func Restored(t *testing.T, e *engine.Entry, limits *command.Settings) *engine.Entry {
	t.Helper()
	p := values.AppendPayload(nil, e)
	typ, body, ok := rdb.OpenPayload(p)
	if !ok {
		t.Fatalf("our payload %q is refused", p)
	}
	n, err := values.ReadBody(typ, body, []byte("k"), limits)
	if err != nil {
		t.Fatalf("our payload %q: %v", p, err)
	}
	return n
}

// FakeList takes the place of a list of one element, x.
type FakeList struct{}

func (FakeList) Clone() engine.Object { return FakeList{} }

func (FakeList) MemoryBytes() int { return 8 }

func (FakeList) Encoding() string { return "quicklist" }
