package clients

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// movePatience is how long the moves of replicas may take, on a machine that all clients keep busy.
const movePatience = 3 * time.Minute

// TestClusterClientsThroughMovesOfReplicas runs all cluster-aware clients and tools at the same
// time while replicas and leaders move: to two nodes that join, away from a node that is drained,
// and back to it. No node dies, so no client may see an error. After each move all nodes must
// describe the cluster alike and correctly.
func TestClusterClientsThroughMovesOfReplicas(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	for _, routing := range []string{"forward", "redirect"} {
		t.Run(routing, func(t *testing.T) { t.Parallel(); moveUnderClients(t, routing) })
	}
}

func moveUnderClients(t *testing.T, routing string) {
	o := proc.Options{Shards: shards, Args: []string{"--routing", routing}}
	c := proc.NewCluster(t, 3, o)
	placed(t, c, "at the start", []int{4, 4, 4})
	m := &moving{t: t, c: c}
	for _, client := range clusterClients {
		m.start(client.name, client.start(t, c))
	}
	m.start("redis-py RedisCluster", pythonLoad(t, c))
	m.start("redis-cli -c", cliLoad(t, c))
	m.start("redis-benchmark --cluster", benchmarkLoad(t, c))
	m.goOn("at the start")

	c.Join(o)
	c.Join(o)
	m.moved("two nodes have joined", []int{2, 2, 2, 3, 3})
	drained := c.Nodes[1]
	proc.MustAsk(t, c.Nodes[0].Addr(), "LOCKSTEP", "DRAIN", drained.Name)
	m.moved(drained.Name+" is drained", []int{0, 3, 3, 3, 3})
	proc.MustAsk(t, c.Nodes[0].Addr(), "LOCKSTEP", "DRAIN", drained.Name, "OFF")
	m.moved(drained.Name+" is drained no more", []int{2, 2, 2, 3, 3})
	m.end()
}

// placed waits until no replica moves and the sorted numbers of replicas per node equal want.
func placed(t *testing.T, c *proc.Cluster, when string, want []int) {
	t.Helper()
	var have []int
	if !proc.Poll(movePatience, func() bool {
		r := proc.Placement(c.Nodes[0])
		have = nil
		if r == nil || !r.Balanced {
			return false
		}
		for _, n := range r.Nodes {
			have = append(have, n.Replicas)
		}
		slices.Sort(have)
		return slices.Equal(have, want)
	}) {
		t.Fatalf("%s: nodes have %v replicas, not %v: %+v", when, have, want, proc.Placement(c.Nodes[0]))
	}
}

// moving is a set of clients that run while replicas move.
type moving struct {
	t     *testing.T
	c     *proc.Cluster
	loads []*load
}

func (m *moving) start(name string, l *load) {
	m.t.Cleanup(l.stop)
	l.name = name
	m.loads = append(m.loads, l)
}

// goOn waits until every client has completed more operations.
func (m *moving) goOn(when string) {
	m.t.Helper()
	goOn(m.t, m.c, m.loads, when)
}

// moved waits until a move has ended, checks how the nodes describe the cluster, and lets every
// client continue for a while.
func (m *moving) moved(when string, replicas []int) {
	m.t.Helper()
	began := time.Now()
	placed(m.t, m.c, when, replicas)
	m.t.Logf("%s: moved within %v", when, time.Since(began).Round(100*time.Millisecond))
	sameTruth(m.t, m.c, when)
	checkTools(m.t, m.c, when)
	m.goOn(when)
}

// end stops the clients, and fails the test if one has seen an error.
func (m *moving) end() {
	for _, l := range m.loads {
		l.stop()
		m.t.Logf("%s: %d operations", l.name, l.ops.Load())
		for _, text := range l.errors {
			m.t.Errorf("%s gave the error %s", l.name, text)
		}
	}
}

// sameTruth waits until the descriptions by all nodes are equal, and name the leaders and replicas
// that the leader of the meta group knows.
func sameTruth(t *testing.T, c *proc.Cluster, when string) {
	t.Helper()
	var views []string
	truth := ""
	if !proc.Poll(patience, func() bool {
		views = views[:0]
		for _, n := range c.Nodes {
			if n.Running() {
				views = append(views, view(n.Addr()))
			}
		}
		same := slices.Compact(slices.Clone(views))
		truth = whereabouts(c)
		return truth != "" && len(same) == 1 && strings.HasSuffix(same[0], truth)
	}) {
		t.Fatalf("%s: nodes tell\n%s\nand so it is:\n%s", when, strings.Join(views, "\n\n"), truth)
	}
}

// whereabouts returns the leaders and replicas of the shards as the leader of the meta group knows
// them, in the form of the end of view.
func whereabouts(c *proc.Cluster) string {
	r := proc.Placement(c.Nodes[0])
	if r == nil {
		return ""
	}
	text := ""
	for _, s := range r.Shards {
		leads, others := 0, []int{}
		for _, replica := range s.Replicas {
			i := slices.IndexFunc(c.Nodes, func(n *proc.Node) bool { return n.Name == replica.Node })
			switch {
			case i < 0:
				return ""
			case replica.Node == s.Leader:
				leads = c.Nodes[i].Port
			default:
				others = append(others, c.Nodes[i].Port)
			}
		}
		slices.Sort(others)
		text += fmt.Sprintf("\n%d-%d leads %d, then %v", s.FirstSlot, s.LastSlot, leads, others)
	}
	return text
}

// checkTools runs redis-cli --cluster against every node.
func checkTools(t *testing.T, c *proc.Cluster, when string) {
	t.Helper()
	for _, n := range c.Nodes {
		wantTool(t, n, "check", "[OK] All nodes agree about slots configuration.", "[OK] All 16384 slots covered.")
		wantTool(t, n, "info", "[OK] ")
		if t.Failed() {
			t.Fatal(when)
		}
	}
}

// cliLoad is a load that types into redis-cli -c.
func cliLoad(t *testing.T, c *proc.Cluster) *load {
	t.Helper()
	person := openCLI(context.Background(), t, c)
	l := loop("cli",
		func(_ context.Context, key, value string) error {
			text, err := person.say("SET %s %s", key, value)
			if err == nil && text != "OK" {
				err = errors.New(text)
			}
			return err
		},
		func(_ context.Context, key string) (string, error) { return person.say("GET %s", key) })
	stop := l.stop
	l.stop = func() {
		stop()
		_ = person.end()
	}
	return l
}

// benchmarkLoad is a load that runs redis-benchmark --cluster again and again.
func benchmarkLoad(t *testing.T, c *proc.Cluster) *load {
	t.Helper()
	host, port := split(t, c.Nodes[0].Addr())
	tool := proc.Tool(t, "redis-benchmark")
	ctx, cancel := context.WithCancel(context.Background())
	l, done := &load{}, make(chan struct{})
	l.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		tick := time.NewTicker(steps * pace)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			out, err := exec.CommandContext(ctx, tool, "--cluster", "-h", host, "-p", port, "-t", "set,get,incr", "-n", "500", "-c", "6", "-q").CombinedOutput()
			if strings.Contains(string(out), leaderUnknown) {
				continue
			}
			if ctx.Err() == nil && (err != nil || strings.Count(string(out), "requests per second") < 3 || strings.Contains(string(out), "Error")) {
				l.failed(fmt.Sprintf("%v\n%s", err, out))
				continue
			}
			l.ops.Add(steps)
		}
	}()
	return l
}

// TestALeavingNodeIsToldOfWhileItLeads removes a node that leads, and reads the descriptions of the
// cluster all the time. Every node must name an owner of every hash slot in each form, and must
// describe every master that it names.
func TestALeavingNodeIsToldOfWhileItLeads(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 4, proc.Options{Shards: shards})
	placed(t, c, "at the start", []int{3, 3, 3, 3})
	gone := c.Nodes[3]
	proc.Wait(t, patience, gone.Name+" leads", func() bool { return slices.Contains(leaderPorts(c.Nodes[0].Addr()), gone.Port) })
	stop := make(chan struct{})
	watched := make(chan int, len(c.Nodes))
	for _, n := range c.Nodes {
		conn := proc.Dial(t, n.Addr()) // connect while the node still runs
		go func() { watched <- watchSlots(t, n, conn, n == gone, stop) }()
	}
	proc.MustAsk(t, c.Nodes[0].Addr(), "LOCKSTEP", "REMOVE", gone.Name)
	proc.Wait(t, movePatience, gone.Name+" ends", func() bool { return !gone.Running() })
	c.Nodes = c.Nodes[:3]
	placed(t, c, gone.Name+" has gone", []int{4, 4, 4})
	close(stop)
	looks := 0
	for range 4 {
		looks += <-watched
	}
	t.Logf("%d looks", looks)
	sameTruth(t, c, gone.Name+" has gone")
}

// watchSlots reads a node's description of the cluster until stop is closed, and returns how often
// it has read it. If ends is true, the node may end meanwhile.
func watchSlots(t *testing.T, n *proc.Node, conn *respconn.Conn, ends bool, stop <-chan struct{}) (looks int) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ; looks++ {
		select {
		case <-stop:
			return looks
		case <-tick.C:
		}
		all, err := conn.Pipeline([]string{"CLUSTER", "NODES"}, []string{"CLUSTER", "SLOTS"}, []string{"CLUSTER", "SHARDS"})
		if ends && (err != nil || !strings.Contains(string(all[0].Bytes), "myself")) {
			return looks // the node is about to end
		}
		if err != nil {
			t.Errorf("%s: %v", n.Name, err)
			return looks
		}
		if why := lacks(string(all[0].Bytes)); why != "" || len(all[1].Elems) != shards || len(all[2].Elems) != shards {
			t.Errorf("%s, look %d: %s; %d ranges, %d shards:\n%s", n.Name, looks, why, len(all[1].Elems), len(all[2].Elems), all[0].Bytes)
			return looks
		}
	}
}

// lacks returns what is wrong with an answer of CLUSTER NODES, or an empty string.
func lacks(nodes string) string {
	owned, own := 0, 0
	ids := map[string]bool{"-": true}
	var masters []string
	for line := range strings.Lines(nodes) {
		f := strings.Fields(line)
		if len(f) < 8 {
			return "a line is short"
		}
		ids[f[0]] = true
		masters = append(masters, f[3])
		own += strings.Count(f[2], "myself")
		for _, part := range f[8:] {
			var first, last int
			if _, err := fmt.Sscanf(part, "%d-%d", &first, &last); err != nil {
				return err.Error()
			}
			owned += last - first + 1
		}
	}
	for _, id := range masters {
		if !ids[id] {
			return "the master " + id + " is not there"
		}
	}
	if owned != 16384 || own != 1 {
		return fmt.Sprintf("%d slots have an owner, %d lines are of the node itself", owned, own)
	}
	return ""
}
