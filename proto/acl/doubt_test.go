package acl

import (
	"testing"

	"lockstep/engine/commands"
)

// TestWhatIsRefusedInDoubt: first orders are refused, later everything, but never the end of a
// connection.
func TestWhatIsRefusedInDoubt(t *testing.T) {
	u := usersOf(t, "pw")
	for words, from := range map[[2]string]Doubt{
		{"config", "set"}: DoubtAdmin, {"acl", "setuser"}: DoubtAdmin, {"acl", "list"}: DoubtAdmin, {"monitor"}: DoubtAdmin, {"client", "kill"}: DoubtAdmin,
		{"lockstep", "remove"}: DoubtAdmin, {"lockstep", "backup"}: DoubtAdmin, {"slowlog", "get"}: DoubtAdmin, {"save"}: DoubtAdmin,
		{"lockstep", "status"}: DoubtAll, {"info"}: DoubtAll, {"get"}: DoubtAll, {"set"}: DoubtAll, {"flushall"}: DoubtAll, {"auth"}: DoubtAll,
		{"hello"}: DoubtAll, {"eval"}: DoubtAll, {"exec"}: DoubtAll, {"quit"}: DoubtAll + 1, {"reset"}: DoubtAll + 1,
	} {
		spec, _ := commands.Lookup([][]byte{[]byte(words[0]), []byte(words[1])})
		if spec == nil {
			t.Fatalf("%q is no command", words)
		}
		for d := NoDoubt; d <= DoubtAll; d++ {
			if got := u.InDoubt(d).Doubts(spec); got != (d >= from) {
				t.Errorf("%q in doubt %d: refused is %v", words, d, got)
			}
		}
	}
}
