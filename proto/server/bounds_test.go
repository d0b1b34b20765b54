package server_test

import (
	"slices"
	"strings"
	"testing"

	"lockstep/proto/client"
	"lockstep/proto/server"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// TestWhatIsKeptOfAClientIsBounded: the texts that a client sets about itself, and the names of its
// channels, are kept in addition to the data and do not count for maxmemory.
func TestWhatIsKeptOfAClientIsBounded(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	name := strings.Repeat("n", 4096)
	const tooLong = "-ERR what a client says of itself may have 4096 bytes"
	for _, args := range [][]string{{"CLIENT", "SETNAME"}, {"CLIENT", "SETINFO", "lib-name"}, {"CLIENT", "SETINFO", "lib-ver"}} {
		if got := prototest.Do(t, c, append(args, name)...); got != "+OK" {
			t.Errorf("%v: %.100s", args, got)
		}
		if got := prototest.Do(t, c, append(args, name+"n")...); got != tooLong {
			t.Errorf("%v: %.100s", args, got)
		}
	}
	if got := prototest.Do(t, c, "HELLO", "3", "SETNAME", name+"n"); got != tooLong {
		t.Errorf("HELLO: %.100s", got)
	}
	if got := prototest.Do(t, c, "CLIENT", "GETNAME"); got != `"`+name+`"` {
		t.Errorf("it is called %.100s", got)
	}
	long := strings.Repeat("c", 40<<20)
	if got := prototest.Do(t, c, "SSUBSCRIBE", long); strings.HasPrefix(got, "-") {
		t.Errorf("a name of 40 MB: %.100s", got)
	}
	if got := prototest.Do(t, c, "SSUBSCRIBE", long[:30<<20]); !strings.HasPrefix(got, "-ERR too many subscriptions") {
		t.Errorf("and one of 30 MB: %.100s", got)
	}
}

// The argument lists of commands with very many arguments are not kept, nor is room for as many
// arguments allocated again.
func TestManyArgumentsTakeTheirOwnRoomAlone(t *testing.T) {
	for _, n := range []int{1, 100, 1 << 14, 1 << 20} {
		data := respconn.Command(append([]string{"DEL"}, slices.Repeat([]string{"k"}, n)...)...)
		if commands, room := server.Parse(append(data, data...)); commands != 2 || room > 1<<14 {
			t.Errorf("%d arguments: %d commands, and room for %d", n, commands, room)
		}
	}
}

// A killed client runs no more of its commands.
func TestNothingRunsBehindAKill(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.DebugFor = "yes" })
	admin, c := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	id := prototest.Do(t, c, "CLIENT", "ID")
	n.OnReload.Store(prototest.Once(func() { prototest.Do(t, admin, "CLIENT", "KILL", "ID", id[1:]) }))
	if err := c.Write(append(respconn.Command("DEBUG", "RELOAD"), respconn.Command("SET", "a", "1")...)); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "it is forgotten", func() bool { return n.Registry.Len() == 1 })
	if got := prototest.Do(t, admin, "GET", "a"); got != "(nil)" {
		t.Errorf("a is %s", got)
	}
}
