package server_test

import (
	"strings"
	"testing"
)

// TestWhatIsKeptOfAClientIsBounded: what a client says of itself, and the names it
// listens on, are kept beside the data, where no maxmemory counts.
func TestWhatIsKeptOfAClientIsBounded(t *testing.T) {
	n := startNode(t, 1)
	c := dial(t, n.addr)
	name := strings.Repeat("n", 4096)
	const tooLong = "-ERR what a client says of itself may have 4096 bytes"
	for _, args := range [][]string{{"CLIENT", "SETNAME"}, {"CLIENT", "SETINFO", "lib-name"}, {"CLIENT", "SETINFO", "lib-ver"}} {
		if got := do(t, c, append(args, name)...); got != "+OK" {
			t.Errorf("%v: %.100s", args, got)
		}
		if got := do(t, c, append(args, name+"n")...); got != tooLong {
			t.Errorf("%v: %.100s", args, got)
		}
	}
	if got := do(t, c, "HELLO", "3", "SETNAME", name+"n"); got != tooLong {
		t.Errorf("HELLO: %.100s", got)
	}
	if got := do(t, c, "CLIENT", "GETNAME"); got != `"`+name+`"` {
		t.Errorf("it is called %.100s", got)
	}
	long := strings.Repeat("c", 40<<20)
	if got := do(t, c, "SSUBSCRIBE", long); strings.HasPrefix(got, "-") {
		t.Errorf("a name of 40 MB: %.100s", got)
	}
	if got := do(t, c, "SSUBSCRIBE", long[:30<<20]); !strings.HasPrefix(got, "-ERR too many subscriptions") {
		t.Errorf("and one of 30 MB: %.100s", got)
	}
}
