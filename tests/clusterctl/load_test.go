package clusterctl

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

// Every verb that changes the cluster is executed, one after the other, under a write load through
// two nodes that stay. The clients' connections never break, and no call returns an error. Every
// acknowledged increment was done, and done once.
func TestEveryVerbUnderAWriteLoad(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 2, Args: []string{"--replicas", "7"}})
	addr := c.Nodes[0].Addr()
	healthy(t, addr, 3, 0)
	u := &underLoad{t: t, addr: addr, keys: 1}
	for _, n := range c.Nodes[:2] {
		u.begin(n, 4)
	}
	u.grow()
	u.drain()
	u.roll(c.Nodes)
	u.kill(c.Nodes[2])
	u.replaceDead()
	u.shrink()
	total := endAll(t, append(u.clients, u.gone...), addr)
	t.Logf("%d increments, none lost, none doubled", 2*total)
}

// underLoad is a cluster with a write load while verbs change it.
type underLoad struct {
	t       *testing.T
	addr    string
	clients []*counting
	// gone are clients that stopped before their node did.
	gone []*counting
	// keys is the number of keys: the shared one, and one of each client.
	keys int64
}

// verb executes a step between rounds of all clients, and logs the longest wait of a client.
func (u *underLoad) verb(what string, do func()) {
	u.t.Helper()
	advance(u.t, u.clients, 10)
	longestOf(u.clients)
	began := time.Now()
	do()
	took := time.Since(began)
	advance(u.t, u.clients, 10)
	u.t.Logf("%-32s took %6.2f s, longest pause %4d ms, 0 errors", what, took.Seconds(), longestOf(u.clients).Milliseconds())
}

// run runs a verb of clusterctl that must succeed.
func (u *underLoad) run(args ...string) {
	u.t.Helper()
	if out, code := proc.Ctl(u.t, u.addr, args...); code != 0 {
		u.t.Errorf("%v: exit %d, %s", args, code, out)
	}
}

// lead makes a node the leader of all groups, as soon as it has caught up in each.
func (u *underLoad) lead(name string) {
	u.t.Helper()
	proc.Wait(u.t, patience, name+" leads", func() bool {
		out, code := proc.Ctl(u.t, u.addr, "transfer", "--shard", "all", "--to", name)
		if code != 0 {
			u.t.Logf("transfer to %s: exit %d, %s", name, code, out)
		}
		return code == 0
	})
}

// whole waits for a healthy cluster with this number of nodes.
func (u *underLoad) whole(nodes int) {
	u.t.Helper()
	healthy(u.t, u.addr, nodes, u.keys)
}

func (u *underLoad) grow() {
	t, addr := u.t, u.addr
	u.verb("join", func() { join(t, addr, "n4"); u.whole(4) })
	u.verb("join --learner", func() {
		join(t, addr, "n5", "--learner", "yes")
		proc.Wait(t, patience, "n5 follows and does not vote", func() bool {
			s := statusOf(t, addr)
			if len(s.Nodes) != 5 || s.Health != "healthy" || !nodeOf(t, s, "n5").Learner {
				return false
			}
			n := nodeOf(t, s, "n5")
			return n.Group("meta").Role == "learner" && n.Group("meta").Voters == 4
		})
	})
	u.verb("promote", func() { u.run("promote", "n5"); u.whole(5) })
	u.verb("transfer to n1", func() { u.lead("n1") })
}

func (u *underLoad) drain() {
	t, addr := u.t, u.addr
	u.verb("drain n1", func() {
		u.run("drain", "n1")
		// An election may choose n1 all the same; then it transfers its leadership.
		proc.Wait(t, patience, "n1 leads nothing", func() bool {
			return !slices.ContainsFunc(nodeOf(t, statusOf(t, addr), "n1").Groups, func(g status.Group) bool { return g.Role == "leader" })
		})
		if out, code := proc.Ctl(t, addr, "transfer", "--to", "n1"); code != 4 {
			t.Errorf("leadership was given to a drained node: exit %d, %s", code, out)
		}
	})
	u.verb("drain n1 --off", func() {
		u.run("drain", "n1", "--off")
		proc.Wait(t, patience, "n1 leads again", func() bool { _, code := proc.Ctl(t, addr, "transfer", "--to", "n1"); return code == 0 })
	})
	u.verb("snapshot", func() { u.run("snapshot") })
}

// roll restarts nodes one after the other, each while it leads everything. Its own clients stop
// before and start again afterwards. The clients of the others notice nothing.
func (u *underLoad) roll(nodes []*proc.Node) {
	for _, n := range nodes {
		had := u.leave(n)
		u.verb("rolling restart: "+n.Name+", which leads", func() {
			u.addr = nodes[(n.Index+1)%len(nodes)].Addr()
			u.lead(n.Name)
			n.Stop()
			n.Start()
			n.WaitReady()
			u.whole(5)
		})
		u.begin(n, had)
	}
	u.addr = nodes[0].Addr()
}

// begin adds clients of a node, and waits until each has created its key, so that the number of
// keys is right even if a client stops at once.
func (u *underLoad) begin(n *proc.Node, clients int) {
	u.t.Helper()
	had := len(u.clients)
	for range clients {
		u.clients = append(u.clients, count(u.t, n.Addr(), fmt.Sprintf("count:%s:%d", n.Name, u.keys)))
		u.keys++
	}
	proc.Wait(u.t, patience, "every new client did a round", func() bool {
		return !slices.ContainsFunc(u.clients[had:], func(c *counting) bool { return c.done.Load() == 0 && len(c.ended) == 0 })
	})
}

// leave stops the clients of a node and returns how many there were.
func (u *underLoad) leave(n *proc.Node) int {
	u.t.Helper()
	var stay []*counting
	had := 0
	for _, c := range u.clients {
		if c.conn.Net().RemoteAddr().String() != n.Addr() {
			stay = append(stay, c)
			continue
		}
		c.stop.Store(true)
		proc.Wait(u.t, patience, c.own+" ends", func() bool { return len(c.ended) == 1 })
		u.gone = append(u.gone, c)
		had++
	}
	u.clients = stay
	return had
}

func (u *underLoad) kill(n3 *proc.Node) {
	u.verb("kill -9 of n3, which leads", func() { u.lead("n3"); n3.Kill9() })
	u.verb("remove n3 (dead)", func() { u.run("remove", "n3", "--yes"); u.whole(4) })
}

// replaceDead replaces a dead node by one that has joined.
func (u *underLoad) replaceDead() {
	t, addr := u.t, u.addr
	dead := join(t, addr, "n7")
	u.whole(5)
	u.verb("kill -9 of n7", func() { dead.kill() })
	join(t, addr, "n8")
	proc.Wait(t, patience, "n8 is in", func() bool {
		s := statusOf(t, addr)
		return len(s.Nodes) == 6 && nodeOf(t, s, "n8").Membership == "member"
	})
	u.verb("replace n7 (dead) by n8", func() { u.run("replace", "n7", "n8", "--yes"); u.whole(5) })
	u.verb("remove n8", func() { u.run("remove", "n8", "--yes"); u.whole(4) })
}

func (u *underLoad) shrink() {
	t, addr := u.t, u.addr
	successor := join(t, addr, "n6")
	u.whole(5)
	u.verb("replace n4, which leads, by n6", func() {
		u.lead("n4")
		u.run("replace", "n4", "n6", "--yes")
		u.whole(4)
	})
	u.verb("remove n5, which leads", func() {
		u.lead("n5")
		u.run("remove", "n5", "--yes")
		u.whole(3)
	})
	u.verb("leave of n6, which leads", func() {
		u.lead("n6")
		if out, code := proc.Ctl(t, nodeOf(t, statusOf(t, addr), "n6").ClientAddr, "leave", "--yes"); code != 0 {
			t.Errorf("leave: exit %d, %s", code, out)
		}
		u.whole(2)
		proc.Wait(t, patience, "n6 ends", successor.exited)
	})
}

// A single command replaces a dead node by a new one of the same name. The command's process
// becomes the new node.
func TestADeadNodeIsReplacedInPlace(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	addr := c.Nodes[0].Addr()
	const keys = 20
	fill(t, addr, "k", keys)
	was := nodeOf(t, healthy(t, addr, 3, keys), "n3")
	out, code := proc.Ctl(t, addr, "replace", "n3", "--yes", "--binary", proc.Lockstepd(t), "--", "--port", "1")
	if code != 4 {
		t.Errorf("exit %d", code)
	}
	says(t, out, "node n3 still answers")
	c.Nodes[2].Kill9()
	proc.Wait(t, patience, "n3 does not answer", func() bool { return !nodeOf(t, statusOf(t, addr), "n3").Reachable })
	ctlStart(t, addr, "replace", "n3", "--yes", "--binary", proc.Lockstepd(t), "--")
	s := healthy(t, addr, 3, keys)
	if now := nodeOf(t, s, "n3"); now.ID == was.ID || len(s.Removed) != 1 || s.Removed[0].ReplacedBy != now.ID {
		t.Errorf("%+v after %+v, removed %+v", now, was, s.Removed)
	}
	holds(t, nodeOf(t, s, "n3").ClientAddr, "k", keys)

	// The replaced node comes back with its old data.
	before := len(c.Nodes[2].Log())
	c.Nodes[2].Start()
	code, log := ends(t, c.Nodes[2], before)
	if code == 0 {
		t.Error("exit status 0 of a node that was replaced")
	}
	says(t, log, "it was replaced by node n3.", "move the folder")
	healthy(t, addr, 3, keys)
}
