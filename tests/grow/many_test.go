package grow

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

// metaRoles returns the names of the running nodes by their role in the meta group.
func metaRoles(n *proc.Node) (roles map[string][]string, voters int) {
	text, err := proc.Ask(n.Addr(), "LOCKSTEP", "STATUS")
	s := &status.Cluster{}
	if err != nil || json.Unmarshal([]byte(text), s) != nil {
		return nil, 0
	}
	roles = map[string][]string{}
	for i := range s.Nodes {
		if g := s.Nodes[i].Group("meta"); g != nil {
			roles[g.Role] = append(roles[g.Role], s.Nodes[i].Name)
			voters = g.Voters
		}
	}
	return roles, voters
}

// TestOfSevenNodesFiveVoteAndAllServe: of seven nodes five vote in the meta group, and three have a
// replica of the shard. All nodes serve clients. When a voter dies, another node takes its place.
func TestOfSevenNodesFiveVoteAndAllServe(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 7, proc.Options{Shards: 1, Args: []string{"--replica-repair-after-ms", "4000"}})
	n1 := c.Nodes[0]
	var roles map[string][]string
	proc.Wait(t, patience, "five nodes vote and two follow", func() bool {
		var voters int
		roles, voters = metaRoles(n1)
		return voters == 5 && len(roles["leader"]) == 1 && len(roles["follower"]) == 4 && len(roles["learner"]) == 2
	})
	serveAll(t, c, c.Nodes)

	var lost *proc.Node
	for _, n := range c.Nodes[1:] {
		if slices.Contains(roles["follower"], n.Name) {
			lost = n
		}
	}
	lost.Kill9()
	proc.Wait(t, patience, "another has taken the seat of the lost one", func() bool {
		now, voters := metaRoles(n1)
		return voters == 5 && len(now["leader"]) == 1 && len(now["follower"]) == 4 && len(now["learner"]) == 1
	})
	var rest []*proc.Node
	for _, n := range c.Nodes {
		if n != lost {
			rest = append(rest, n)
		}
	}
	serveAll(t, c, rest)
}

// serveAll writes and reads through every node, also with a blocking command.
func serveAll(t *testing.T, c *proc.Cluster, nodes []*proc.Node) {
	t.Helper()
	for i, n := range nodes {
		conn := proc.Dial(t, n.Addr())
		key := fmt.Sprintf("k%d", i)
		if got := proc.Do(t, conn, "SET", key, n.Name); got != "+OK" {
			t.Errorf("SET through %s: %s", n.Name, got)
		}
		if err := conn.Send("BLPOP", "list"+key, "30"); err != nil {
			t.Fatal(err)
		}
		other := nodes[(i+1)%len(nodes)]
		if v, err := proc.Ask(other.Addr(), "GET", key); v != n.Name || err != nil {
			t.Errorf("GET through %s: %q, %v", other.Name, v, err)
		}
		if _, err := proc.Ask(other.Addr(), "RPUSH", "list"+key, "x"); err != nil {
			t.Errorf("RPUSH through %s: %v", other.Name, err)
		}
		if got, want := proc.Read(t, conn), fmt.Sprintf(`*2 "list%s" "x"`, key); got != want {
			t.Errorf("BLPOP through %s: %s, want %s", n.Name, got, want)
		}
		reader := proc.Dial(t, n.Addr())
		proc.Do(t, reader, "READONLY")
		proc.Wait(t, patience, "a replica knows it", func() bool {
			v, err := reader.Do("GET", key)
			return err == nil && string(v.Bytes) == n.Name
		})
	}
}
