package admin_test

import (
	"slices"
	"strings"
	"testing"

	"lockstep/engine/commands"
	"lockstep/proto/admin"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// CLUSTER reports the nodes and the connections between them.
func TestClusterTellsOfItsNodes(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.ShownMode.Store("cluster")
	id := func(digit string) string { return strings.Repeat(digit, 40) }
	n.Nodes = []admin.ClusterNode{{SlotNode: admin.SlotNode{ID: id("c")}}}
	n.Links = []admin.ClusterLink{{Node: id("b"), Outgoing: true, SinceMs: 1700000000123, QueuedBytes: 7}, {Node: id("c"), SinceMs: 1700000000456}}
	c := prototest.Dial(t, n.Addr)
	for _, step := range []struct{ line, want string }{
		{"CLUSTER COUNT-FAILURE-REPORTS " + id("c"), ":0"},
		{"CLUSTER MYSHARDID", `"` + id("5") + `"`},
		{"CLUSTER LINKS", `*2 *12 "direction" "to" "node" "` + id("b") + `" "create-time" :1700000000123 "events" "rw" "send-buffer-allocated" :7 "send-buffer-used" :7 ` +
			`*12 "direction" "from" "node" "` + id("c") + `" "create-time" :1700000000456 "events" "r" "send-buffer-allocated" :0 "send-buffer-used" :0`},
	} {
		if got := strings.Join(strings.Fields(prototest.Do(t, c, strings.Fields(step.line)...)), " "); got != step.want {
			t.Errorf("%s: %s, want %s", step.line, got, step.want)
		}
	}
}

// Commands that would change the cluster are refused with the reason.
func TestChangesOfTheClusterAreRefusedInWords(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.ShownMode.Store("cluster")
	c := prototest.Dial(t, n.Addr)
	for _, line := range []string{
		"ADDSLOTS 1 2", "ADDSLOTSRANGE 1 2", "BUMPEPOCH", "DELSLOTS 1", "DELSLOTSRANGE 1 2", "FAILOVER", "FAILOVER FORCE", "FLUSHSLOTS",
		"FORGET x", "MEET a 1", "REPLICATE x", "RESET", "RESET HARD", "SET-CONFIG-EPOCH 5", "SETSLOT 1 STABLE",
	} {
		words := strings.Fields(line)
		why := commands.Refused("cluster|" + strings.ToLower(words[0]))
		want := "-ERR CLUSTER " + words[0] + " is refused: " + why
		if got := prototest.Do(t, c, append([]string{"CLUSTER"}, words...)...); got != want || why == "" {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// COMMAND LIST also has the subcommands, with and without a filter, and COMMAND DOCS has every
// command of redis-server that exists here.
func TestListsOfCommandsAreRediss(t *testing.T) {
	redis, ours := prototest.Dial(t, prototest.StartRedis(t)), prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	for _, args := range [][]string{
		{"COMMAND", "LIST"}, {"COMMAND", "LIST", "FILTERBY", "PATTERN", "c*"}, {"COMMAND", "LIST", "FILTERBY", "ACLCAT", "dangerous"}, {"COMMAND", "DOCS"},
	} {
		var lists [2][]string
		for i, c := range []interface {
			Do(args ...string) (respconn.Value, error)
		}{redis, ours} {
			v, err := c.Do(args...)
			if err != nil {
				t.Fatal(err)
			}
			step := 1
			if args[1] == "DOCS" {
				step = 2
			}
			for j := 0; j < len(v.Elems); j += step {
				if name := string(v.Elems[j].Bytes); onBoth(name) {
					lists[i] = append(lists[i], name)
				}
			}
			slices.Sort(lists[i])
		}
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("%q: redis-server has %q, we have %q", args, without(lists[0], lists[1]), without(lists[1], lists[0]))
		}
		if len(lists[0]) < 20 {
			t.Errorf("%q: only %d", args, len(lists[0]))
		}
	}
}

// onBoth reports whether both redis-server 7.0 and this server have a command.
func onBoth(name string) bool {
	s := commands.Get(name)
	return s != nil && !s.Internal() && s.InRedis(oracleVersion) && otherRows[name] == ""
}

func without(list, other []string) (rest []string) {
	for _, name := range list {
		if !slices.Contains(other, name) {
			rest = append(rest, name)
		}
	}
	return rest
}
