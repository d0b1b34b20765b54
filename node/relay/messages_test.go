package relay

import (
	"slices"
	"testing"
	"time"

	"lockstep/cluster/meta"
)

// A node that did not answer is forgotten once it is no longer in the view.
func TestSilentNodesAreForgottenWithTheirView(t *testing.T) {
	m := &Messages{}
	for _, addr := range []string{"host-b:1", "host-c:1"} {
		m.silent.Store(addr, true)
	}
	m.othersOf(&meta.View{Nodes: []meta.Node{{ID: "a", PeerAddr: "host-a:1"}, {ID: "c", PeerAddr: "host-c:1"}}}, "a")
	var left []any
	m.silent.Range(func(addr, _ any) bool {
		left = append(left, addr)
		return true
	})
	if len(left) != 1 || left[0] != "host-c:1" {
		t.Errorf("%v are remembered", left)
	}
}

// The list of other nodes is made once for each view, and is correct for each.
func TestOtherNodesAreListedOncePerView(t *testing.T) {
	m := &Messages{}
	one := &meta.View{Nodes: []meta.Node{{ID: "a", PeerAddr: "host-a:1"}, {ID: "b", PeerAddr: "host-b:1"}, {ID: "c", PeerAddr: "host-c:1", State: meta.Leaving}}}
	two := &meta.View{Nodes: []meta.Node{{ID: "a", PeerAddr: "host-a:1"}, {ID: "b", PeerAddr: "elsewhere:1"}}}
	for view, want := range map[*meta.View][]string{one: {"host-b:1", "host-c:1"}, two: {"elsewhere:1"}, {}: nil} {
		if got := m.othersOf(view, "a"); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if n := testing.AllocsPerRun(100, func() { m.othersOf(view, "a") }); n != 0 {
			t.Errorf("%v allocations for each message", n)
		}
	}
}

// PUBLISH waits for all messages of a pipeline together, however many there are.
func TestAPipelineOfMessagesWaitsOnceForASilentNode(t *testing.T) {
	begun, messages := time.Now(), 60
	for range messages {
		c := receiverCount{begun: begun.Add(-receiversWait), done: make(chan struct{})}
		c.open.Store(1)
		c.sum.Store(2)
		if n := c.wait(); n != 2 {
			t.Fatalf("%d receivers", n)
		}
	}
	if took := time.Since(begun); took > time.Duration(messages)*receiversWait/2 {
		t.Errorf("%d messages were waited for %v", messages, took)
	}
}

// TestAMessageOfNoKindReachesNobody: the first byte of a message from another node may be any byte.
// A byte beyond the known kinds once caused an index out of range, which ended the process.
func TestAMessageOfNoKindReachesNobody(t *testing.T) {
	m := NewMessages(nil)
	for kind := range 256 {
		for _, rest := range []string{"", "\x01cm", "\x00", "\x05c", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01c"} {
			var answer []byte
			m.Serve(append([]byte{byte(kind)}, rest...), func(b []byte) { answer = b })
			if string(answer) != "\x00" {
				t.Errorf("kind %d, %q: the answer is %q", kind, rest, answer)
			}
		}
	}
}
