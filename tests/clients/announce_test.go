package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestAnnouncedAddresses sets the announced addresses of a running node. Every node must report
// them to clients, in the form that each client prefers and also in MOVED replies. When the
// settings are cleared, the nodes must report the real address again.
func TestAnnouncedAddresses(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	// With a leader that does not change, MOVED always names the same node.
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards, Args: proc.OneLeader})
	spread(t, c)
	asker, announcer := proc.Dial(t, c.Nodes[0].Addr()), proc.Dial(t, c.Nodes[1].Addr())
	ok := func(args ...string) {
		t.Helper()
		conn := announcer
		if args[0] == "asker" {
			conn, args = asker, args[1:]
		}
		if got := proc.Do(t, conn, args...); got != "+OK" {
			t.Fatalf("%q: %s", args, got)
		}
	}
	everywhere := func(part string) {
		t.Helper()
		proc.Wait(t, patience, "all nodes tell of "+part, func() bool {
			return !slices.ContainsFunc(c.Nodes, func(n *proc.Node) bool {
				text, err := proc.Ask(n.Addr(), "CLUSTER", "NODES")
				return err != nil || !strings.Contains(text, part)
			})
		})
	}
	bus := c.Nodes[1].PeerAddr()[strings.LastIndexByte(c.Nodes[1].PeerAddr(), ':')+1:]
	ok("CONFIG", "SET", "cluster-announce-ip", "10.9.8.7", "cluster-announce-port", "7777", "cluster-announce-hostname", "two.example")
	everywhere(" 10.9.8.7:7777@" + bus + ",two.example ")

	key, slot := keyOf(t, c, 1)
	ok("asker", "CONFIG", "SET", "routing", "redirect")
	for _, kind := range []struct{ name, endpoint, moved string }{
		{"ip", `"10.9.8.7" :7777`, "10.9.8.7:7777"}, {"hostname", `"two.example" :7777`, "two.example:7777"}, {"unknown-endpoint", `(nil) :7777`, ":7777"},
	} {
		ok("asker", "CONFIG", "SET", "cluster-preferred-endpoint-type", kind.name)
		if got := proc.Do(t, asker, "CLUSTER", "SLOTS"); !strings.Contains(got, kind.endpoint) {
			t.Errorf("%s: no %s in %s", kind.name, kind.endpoint, got)
		}
		if got, want := proc.Do(t, asker, "GET", key), fmt.Sprintf("-MOVED %d %s", slot, kind.moved); got != want {
			t.Errorf("%s: %s, not %s", kind.name, got, want)
		}
	}
	ok("asker", "CONFIG", "SET", "routing", "forward")
	if got := proc.Do(t, asker, "GET", key); got != "(nil)" {
		t.Errorf("forwarded: %s", got)
	}
	ok("CONFIG", "SET", "cluster-announce-ip", "", "cluster-announce-port", "0", "cluster-announce-hostname", "")
	everywhere(fmt.Sprintf(" %s@%s ", c.Nodes[1].Addr(), bus))
}

// keyOf returns a key of a shard, and the key's hash slot.
func keyOf(t *testing.T, c *proc.Cluster, shard int) (key string, slot int) {
	t.Helper()
	conn := proc.Dial(t, c.Nodes[0].Addr())
	var all []slotRange
	proc.Wait(t, patience, "the node tells who has which hash slots", func() bool {
		all = slots(c.Nodes[0].Addr())
		return len(all) == shards
	})
	r := all[shard]
	var first, last int
	_, err := fmt.Sscan(r.first, &first)
	must(t, err)
	_, err = fmt.Sscan(r.last, &last)
	must(t, err)
	for i := range 10_000 {
		key := fmt.Sprintf("key:%d", i)
		_, err := fmt.Sscanf(proc.Do(t, conn, "CLUSTER", "KEYSLOT", key), ":%d", &slot)
		must(t, err)
		if first <= slot && slot <= last {
			return key, slot
		}
	}
	t.Fatalf("no key of shard %d", shard)
	return "", 0
}
