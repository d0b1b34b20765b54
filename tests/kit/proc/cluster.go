package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/ports"
)

// ElectionPatience is how long a cluster with a quorum may be without a leader on the slowest
// machine. Other tests measure the time that is promised for an ordinary machine.
const ElectionPatience = 2 * time.Minute

// OneLeader are flags for a cluster that should keep its first leader: no pause of a busy machine
// is long enough for an election. If a test kills the leader, these flags make the election long.
var OneLeader = []string{"--raft-heartbeat-ms", "10000", "--raft-election-ms", "10000"}

// Node is a lockstepd.
type Node struct {
	*Process
	// Index counts the nodes of a cluster from 0.
	Index int
}

// Role is the node's role in its first shard: leader, follower, candidate or learner. It is "none"
// if the node has no replica, "" if it does not answer.
func (n *Node) Role() string { return Info(n.Addr(), "raft")["raft_role"] }

// DataDir is the node's data folder, which the node creates itself.
func (n *Node) DataDir() string { return filepath.Join(n.Dir, "data") }

// PeerAddr is the address to which the other nodes connect.
func (n *Node) PeerAddr() string { return fmt.Sprintf("127.0.0.1:%d", n.Port+ports.PeerDistance) }

// WaitReady waits until the node answers and leads or follows.
func (n *Node) WaitReady() {
	n.t.Helper()
	Wait(n.t, startPatience, n.Name+" answers PING and leads or follows", func() bool {
		if !n.Running() {
			n.t.Fatalf("%s ended by itself; its log ends:\n%s", n.Name, n.LogTail(2000))
		}
		role := ""
		if Ping(n.Addr()) {
			role = n.Role()
		}
		// A node without a replica may still be given one.
		return role == "leader" || role == "follower" || role == "none" && n.placed()
	})
}

// placed reports whether all replicas are where they should be, in a cluster that does not keep all
// replicas on every node.
func (n *Node) placed() bool {
	report, err := ask(n.Addr(), lookPatience, "LOCKSTEP", "PLACEMENT")
	return err == nil && strings.Contains(report, `"balanced":true`) && !strings.Contains(report, `"replicas":0,"nodes"`)
}

// Options describe a cluster. The zero value has the defaults of the server, or those of the
// environment (see the package comment).
type Options struct {
	Shards   int
	LogStore string
	// Args are added to the command line of every node.
	Args []string
	// Before is called with each node before its first start.
	Before func(*Node)
}

func (o Options) args() []string {
	var args []string
	store := o.LogStore
	if store == "" {
		store = os.Getenv("LOCKSTEP_LOG_STORE")
	}
	if store != "" {
		args = append(args, "--raft-log-store", store)
	}
	shards := os.Getenv("LOCKSTEP_SHARDS")
	if o.Shards > 0 {
		shards = strconv.Itoa(o.Shards)
	}
	if shards != "" {
		args = append(args, "--shards", shards)
	}
	return append(append(args, "--enable-debug-command", "yes"), o.Args...)
}

// Cluster is a number of nodes of one cluster.
type Cluster struct {
	Nodes []*Node
	t     testing.TB
}

// NewNode starts a single lockstepd.
func NewNode(t testing.TB, o Options) *Node {
	t.Helper()
	return NewCluster(t, 1, o).Nodes[0]
}

// NewLone starts a lockstepd with only two flags, its port and its folder.
func NewLone(t testing.TB) *Node {
	t.Helper()
	node := newNode(t, "lone", 0)
	node.Start()
	node.WaitReady()
	return node
}

// NewUnstarted makes a node with its ports, its name, its folder and these flags, and does not
// start it.
func NewUnstarted(t testing.TB, name string, flags ...string) *Node {
	t.Helper()
	node := newNode(t, name, 0)
	node.argv = append(node.argv, "--peer-port", strconv.Itoa(node.Port+ports.PeerDistance), "--node-name", node.Name)
	node.argv = append(node.argv, flags...)
	return node
}

// newNode makes a node that is not started yet.
func newNode(t testing.TB, name string, index int) *Node {
	t.Helper()
	binary := Lockstepd(t)
	node := &Node{Process: newProcess(t, name, FreePort(t)), Index: index}
	node.argv = []string{binary, "--port", strconv.Itoa(node.Port), "--dir", node.DataDir()}
	return node
}

// NewCluster starts n nodes: the first bootstraps the cluster, and the others join it. When it
// returns, each node leads or follows, and each shard has all its voters, so that one node may be
// killed.
func NewCluster(t testing.TB, n int, o Options) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	c.Join(o).WaitReady()
	for range n - 1 {
		c.Join(o)
	}
	for _, node := range c.Nodes[1:] {
		node.WaitReady()
	}
	c.WaitLeader()
	c.waitVoters(min(n, replicasUsual))
	return c
}

// Join starts another node, which asks the first node to join. It does not wait for the node.
func (c *Cluster) Join(o Options) *Node {
	c.t.Helper()
	i := len(c.Nodes)
	node := newNode(c.t, "n"+strconv.Itoa(i+1), i)
	node.argv = append(node.argv, "--bind", "127.0.0.1", "--peer-port", strconv.Itoa(node.Port+ports.PeerDistance), "--node-name", node.Name)
	node.argv = append(node.argv, o.args()...)
	if i == 0 {
		node.argv = append(node.argv, "--bootstrap")
	} else {
		node.argv = append(node.argv, "--join", c.Nodes[0].PeerAddr())
	}
	c.Nodes = append(c.Nodes, node)
	if o.Before != nil {
		o.Before(node)
	}
	node.Start()
	return node
}

// NewFounders makes n nodes that found a cluster together with bootstrap-expect, and starts none:
// each node expects n nodes, and has the addresses of all.
func NewFounders(t testing.TB, n int, o Options) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	var peers []string
	for i := range n {
		node := newNode(t, "n"+strconv.Itoa(i+1), i)
		c.Nodes = append(c.Nodes, node)
		peers = append(peers, node.PeerAddr())
	}
	for _, node := range c.Nodes {
		node.argv = append(node.argv, "--bind", "127.0.0.1", "--peer-port", strconv.Itoa(node.Port+ports.PeerDistance), "--node-name", node.Name,
			"--join", strings.Join(peers, ","), "--bootstrap-expect", strconv.Itoa(n))
		node.argv = append(node.argv, o.args()...)
	}
	return c
}

// Leader is the running node that says that it leads shard 0. It is nil if there is none, or if
// several say so, which may happen for a moment.
func (c *Cluster) Leader() *Node {
	var leader *Node
	for _, n := range c.Nodes {
		if !n.Running() || !strings.HasPrefix(Info(n.Addr(), "raft")["raft_shard0"], "role=leader,") {
			continue
		}
		if leader != nil {
			return nil
		}
		leader = n
	}
	return leader
}

// WaitLeader waits until exactly one node leads.
func (c *Cluster) WaitLeader() *Node {
	c.t.Helper()
	var leader *Node
	Wait(c.t, ElectionPatience, "one node leads", func() bool {
		leader = c.Leader()
		return leader != nil
	})
	return leader
}

// Followers are the running nodes that are followers.
func (c *Cluster) Followers() []*Node {
	var all []*Node
	for _, n := range c.Nodes {
		if n.Running() && n.Role() == "follower" {
			all = append(all, n)
		}
	}
	return all
}

// Follower waits for a node that is a follower.
func (c *Cluster) Follower() *Node {
	c.t.Helper()
	var all []*Node
	Wait(c.t, ElectionPatience, "a node follows", func() bool {
		all = c.Followers()
		return len(all) > 0
	})
	return all[0]
}

// Restart kills all nodes at once, and starts them again with the same flags.
func (c *Cluster) Restart() {
	for _, n := range c.Nodes {
		n.Kill9()
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	for _, n := range c.Nodes {
		n.WaitReady()
	}
}

// Addrs are the client addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Addr())
	}
	return all
}
