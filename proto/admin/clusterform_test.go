package admin_test

import (
	"strings"
	"testing"

	"lockstep/proto/admin"
	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
)

// threeNodes returns a master of two shards, a master of another one, and a replica that cannot be
// reached.
func threeNodes() ([]admin.ClusterNode, []admin.SlotOwner) {
	a := admin.SlotNode{ID: strings.Repeat("a", 40), IP: "10.0.0.1", Port: 7001, Healthy: true}
	b := admin.SlotNode{ID: strings.Repeat("b", 40), IP: "10.0.0.2", Hostname: "b.example", Port: 7002, Healthy: true}
	c := admin.SlotNode{ID: strings.Repeat("c", 40), IP: "10.0.0.3", Port: 7003}
	nodes := []admin.ClusterNode{
		{SlotNode: a, BusPort: 17001, Slots: [][2]int{{0, 99}, {200, 200}}, Epoch: 4},
		{SlotNode: b, BusPort: 17002, Myself: true, Slots: [][2]int{{100, 199}}, Epoch: 7},
		{SlotNode: c, BusPort: 17003, Master: a.ID, Epoch: 4},
	}
	leads := func(n admin.SlotNode) admin.SlotNode { n.Leads = true; return n }
	owners := []admin.SlotOwner{{First: 0, Last: 99, Nodes: []admin.SlotNode{leads(a), b, c}}, {First: 100, Last: 199, Nodes: []admin.SlotNode{leads(b), a}}}
	return nodes, owners
}

// TestClusterCommandsHaveRedisForm compares the replies of CLUSTER commands with their form in
// redis-server.
func TestClusterCommandsHaveRedisForm(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.ShownMode.Store("cluster")
	n.Nodes, n.Owners = threeNodes()
	c := prototest.Dial(t, n.Addr)
	a, b, x := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	lines := []string{
		a + " 10.0.0.1:7001@17001 master - 0 0 4 connected 0-99 200",
		b + " 10.0.0.2:7002@17002,b.example myself,master - 0 0 7 connected 100-199",
		x + " 10.0.0.3:7003@17003 slave,fail " + a + " 0 0 4 disconnected",
	}
	text := func(args ...string) string {
		v, err := c.Do(args...)
		if err != nil {
			t.Fatal(err)
		}
		return string(v.Bytes)
	}
	if got, want := text("CLUSTER", "NODES"), strings.Join(lines, "\n")+"\n"; got != want {
		t.Errorf("CLUSTER NODES:\n%s\nnot\n%s", got, want)
	}
	flat := func(args ...string) string { return strings.Join(strings.Fields(prototest.Do(t, c, args...)), " ") }
	for _, step := range []struct{ line, want string }{
		{"CLUSTER REPLICAS " + a, `*1 "` + lines[2] + `"`},
		{"CLUSTER SLAVES " + b, "*0"},
		{"CLUSTER REPLICAS " + x, "-ERR The specified node is not a master"},
		{"CLUSTER REPLICAS abc", "-ERR Unknown node abc"},
	} {
		if got := flat(strings.Fields(step.line)...); got != step.want {
			t.Errorf("%s: %s, not %s", step.line, got, step.want)
		}
	}
	for kind, want := range map[client.EndpointKind][3]string{
		client.EndpointIP:       {`*4 "10.0.0.1" :7001 "` + a + `" *0`, `*4 "10.0.0.2" :7002 "` + b + `" *2 "hostname" "b.example"`, `"endpoint" "10.0.0.2" "hostname" "b.example"`},
		client.EndpointHostname: {`*4 "?" :7001 "` + a + `" *2 "ip" "10.0.0.1"`, `*4 "b.example" :7002 "` + b + `" *2 "ip" "10.0.0.2"`, `"endpoint" "b.example" "hostname" "b.example"`},
		client.EndpointUnknown:  {`*4 (nil) :7001 "` + a + `" *2 "ip" "10.0.0.1"`, `*4 (nil) :7002 "` + b + `" *4 "ip" "10.0.0.2" "hostname" "b.example"`, `"endpoint" "" "hostname" "b.example"`},
	} {
		n.Set(func(s *client.Settings) { s.Endpoint = kind })
		slots, shards := flat("CLUSTER", "SLOTS"), flat("CLUSTER", "SHARDS")
		for i, part := range want {
			if in := []string{slots, slots, shards}[i]; !strings.Contains(in, part) {
				t.Errorf("endpoint kind %d: no %s in %s", kind, part, in)
			}
		}
		if i, j := strings.Index(slots, a), strings.Index(slots, b); i > j {
			t.Errorf("the leader does not stand first: %s", slots)
		}
	}
	n.Unaware.Store(true)
	for _, line := range []string{"CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES", "CLUSTER INFO"} {
		if got := flat(strings.Fields(line)...); !strings.HasPrefix(got, "-CLUSTERDOWN") {
			t.Errorf("%s of a node that knows nothing: %s", line, got)
		}
	}
}
