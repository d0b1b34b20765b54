package command

import (
	"testing"

	"lockstep/engine"
	"lockstep/engine/rdb"
)

// payloadOf is a payload with a right footer.
func payloadOf(body string) []byte { return rdb.AppendFooter([]byte(body), 0) }

// restored dumps an entry and restores it.
func restored(t *testing.T, e *engine.Entry, limits *Settings) *engine.Entry {
	t.Helper()
	p := AppendPayload(nil, e)
	typ, body, ok := rdb.OpenPayload(p)
	if !ok {
		t.Fatalf("our payload %q is refused", p)
	}
	n, err := readPayload(typ, body, []byte("k"), limits)
	if err != nil {
		t.Fatalf("our payload %q: %v", p, err)
	}
	return n
}

// fakeList stands for a list of one element, x.
type fakeList struct{}

func (fakeList) Clone() engine.Object { return fakeList{} }

func (fakeList) MemoryBytes() int { return 8 }

func (fakeList) Encoding() string { return "quicklist" }
