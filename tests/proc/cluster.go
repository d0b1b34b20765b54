package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// ElectionPatience is how long a cluster with a quorum may be without a leader
// on the slowest machine; what is promised on an ordinary one, tests measure.
const ElectionPatience = 60 * time.Second

// Node is a lockstepd.
type Node struct {
	*Process
	// Index counts the nodes of a cluster from 0.
	Index int
}

// Role is what the node says it is in shard 0: leader, follower, candidate or
// learner; "" if it does not answer.
func (n *Node) Role() string { return Info(n.Addr(), "raft")["raft_role"] }

// PeerAddr is where the other nodes connect.
func (n *Node) PeerAddr() string { return fmt.Sprintf("127.0.0.1:%d", n.Port+peerPortDistance) }

// WaitReady waits until the node answers and knows its place: it leads or
// follows.
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
		return role == "leader" || role == "follower"
	})
}

// Options say what a cluster is made of. The zero value is the default of the
// server, or of the environment (see the package comment).
type Options struct {
	Shards   int
	LogStore string
	// Args are added to the command line of every node.
	Args []string
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

// Cluster is a number of nodes that belong together.
type Cluster struct {
	Nodes []*Node
	t     testing.TB
}

// NewNode starts a lockstepd by itself.
func NewNode(t testing.TB, o Options) *Node {
	t.Helper()
	return NewCluster(t, 1, o).Nodes[0]
}

// NewCluster starts n nodes: the first bootstraps the cluster, the others join
// it. All lead or follow when it returns.
func NewCluster(t testing.TB, n int, o Options) *Cluster {
	t.Helper()
	binary := Lockstepd(t)
	c := &Cluster{t: t}
	for i := range n {
		name := "n" + strconv.Itoa(i+1)
		node := &Node{Process: newProcess(t, name, FreePort(t)), Index: i}
		node.argv = append([]string{
			binary, "--port", strconv.Itoa(node.Port), "--bind", "127.0.0.1",
			"--peer-port", strconv.Itoa(node.Port + peerPortDistance),
			"--dir", filepath.Join(node.Dir, "data"), "--node-name", name,
		}, o.args()...)
		if i == 0 {
			node.argv = append(node.argv, "--bootstrap")
		} else {
			node.argv = append(node.argv, "--join", c.Nodes[0].PeerAddr())
		}
		c.Nodes = append(c.Nodes, node)
		node.Start()
		node.WaitReady()
	}
	c.WaitLeader()
	return c
}

// Leader is the running node that says it leads shard 0, nil if there is none
// or more than one says so, as may be for a moment.
func (c *Cluster) Leader() *Node {
	var leader *Node
	for _, n := range c.Nodes {
		if !n.Running() || n.Role() != "leader" {
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

// Followers are the running nodes that follow.
func (c *Cluster) Followers() []*Node {
	var all []*Node
	for _, n := range c.Nodes {
		if n.Running() && n.Role() == "follower" {
			all = append(all, n)
		}
	}
	return all
}

// Follower waits for a node that follows while another leads.
func (c *Cluster) Follower() *Node {
	c.t.Helper()
	var all []*Node
	Wait(c.t, ElectionPatience, "a node follows", func() bool {
		all = c.Followers()
		return len(all) > 0
	})
	return all[0]
}

// Addrs are the client addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Addr())
	}
	return all
}
