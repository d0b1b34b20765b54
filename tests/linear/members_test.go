package linear

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"lockstep/cluster/placement"
	"lockstep/tests/kit/proc"
)

// membersPatience is how long a change of membership may take, including faults.
const membersPatience = 2 * time.Minute

// members changes the members of a cluster and the places of replicas, while nodes are killed and
// paused.
type members struct {
	t *testing.T
	c *proc.Cluster
	o proc.Options
	w *workload
	f *faults
	r *rand.Rand
	// in are the members that faults may hit; the first one stays a member.
	in []*proc.Node
}

// testMembers makes a series of changes, each with a fault in the middle.
func testMembers(t *testing.T, readMode string) {
	t.Parallel()
	seed := proc.Seed(t, uint64(time.Now().UnixNano()))
	m := &members{t: t, r: rand.New(rand.NewPCG(seed, 0)), o: proc.Options{Shards: 4, Args: []string{
		"--read-mode", readMode, "--raft-log-shared", "yes", "--replica-repair-after-ms", "3000",
		"--raft-snapshot-entries", "256", "--raft-trailing-entries", "64", "--raft-heartbeat-ms", "500", "--raft-election-ms", "500",
	}}}
	m.c = proc.NewCluster(t, 3, m.o)
	m.in = slices.Clone(m.c.Nodes)
	m.w = startWorkload(m.c)
	m.f = &faults{t: t, w: m.w}
	m.f.awaitProgress()
	m.growth()
	changes := []func(){m.replace, m.drain, m.transfer, m.leave}
	for range rounds(1, 12) {
		m.r.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		for _, change := range changes {
			change()
		}
	}
	m.settle("all is done")
	m.w.stop()
	m.f.report()
	verify(t, m.w)
}

func TestMembersChangeUnderFaultsByLease(t *testing.T)  { testMembers(t, "lease") }
func TestMembersChangeUnderFaultsByQuorum(t *testing.T) { testMembers(t, "quorum") }

// any is a random member except the first, which joining nodes ask.
func (m *members) any() *proc.Node { return m.in[1+m.r.IntN(len(m.in)-1)] }

// hurt kills or pauses a random node for a moment.
func (m *members) hurt() {
	n := m.in[m.r.IntN(len(m.in))]
	if m.r.IntN(2) == 0 {
		m.f.pause(n, time.Duration(m.r.IntN(int(2*electionTime))))
		return
	}
	m.f.restart(n)
}

// order gives an order while meanwhile disturbs nodes, and repeats the order until it succeeds.
func (m *members) order(meanwhile func(), args ...string) {
	m.t.Helper()
	m.f.begin("%v", args)
	addr := m.in[0].Addr()
	reply := ""
	done := make(chan bool, 1)
	go func() {
		done <- proc.Poll(membersPatience, func() bool {
			text, err := proc.Ask(addr, append([]string{"LOCKSTEP"}, args...)...)
			if reply = text; err != nil {
				reply = err.Error()
			}
			return err == nil
		})
	}()
	meanwhile()
	if !<-done {
		m.t.Fatalf("%v: %s", args, reply)
	}
}

// join adds a new node. Its clients start when it answers.
func (m *members) join() *proc.Node {
	m.t.Helper()
	n := m.c.Join(m.o)
	m.f.begin("%s joins", n.Name)
	proc.Wait(m.t, membersPatience, n.Name+" is a member", func() bool { return m.listed(n) && proc.Ping(n.Addr()) })
	m.w.begin(n)
	m.in = append(m.in, n)
	return n
}

// growth adds nodes until there are five.
func (m *members) growth() {
	for len(m.in) < 5 {
		m.join()
		m.hurt()
	}
	m.settle("nodes joined")
}

// replace kills a node for good and lets a new one take its place.
func (m *members) replace() {
	old := m.any()
	m.f.begin("kill -9 of %s for good", old.Name)
	m.w.end(old)
	old.Kill9()
	m.in = slices.DeleteFunc(m.in, func(n *proc.Node) bool { return n == old })
	n := m.join()
	m.order(func() { m.f.restart(m.any()) }, "REPLACE", old.Name, n.Name)
	m.settle(old.Name + " was replaced")
}

// leave removes a node, and then adds a new one.
func (m *members) leave() {
	gone := m.any()
	m.in = slices.DeleteFunc(m.in, func(n *proc.Node) bool { return n == gone })
	m.w.end(gone)
	m.order(m.hurt, "REMOVE", gone.Name)
	proc.Wait(m.t, membersPatience, gone.Name+" has ended", func() bool { return !gone.Running() })
	m.settle(gone.Name + " was removed")
	m.growth()
}

// drain drains a node, and then ends the draining.
func (m *members) drain() {
	n := m.any()
	m.order(m.hurt, "DRAIN", n.Name)
	m.settle(n.Name + " was drained")
	m.order(func() { m.f.restart(n) }, "DRAIN", n.Name, "OFF")
	m.settle(n.Name + " may lead again")
}

// transfer moves the leaders of all shards.
func (m *members) transfer() {
	for shard := range m.o.Shards {
		_, _ = proc.Ask(m.in[0].Addr(), "LOCKSTEP", "TRANSFER", strconv.Itoa(shard))
	}
	m.hurt()
	m.settle("leaders moved")
}

// placed is the placement report of the first node, nil if it gives none.
func (m *members) placed() *placement.Report {
	r := &placement.Report{}
	text, err := proc.Ask(m.in[0].Addr(), "LOCKSTEP", "PLACEMENT")
	if err != nil || json.Unmarshal([]byte(text), r) != nil {
		return nil
	}
	return r
}

func (m *members) listed(n *proc.Node) bool {
	r := m.placed()
	return r != nil && slices.ContainsFunc(r.Nodes, func(other placement.NodeReport) bool { return other.Name == n.Name })
}

// settle waits until replicas and leaders are where they should be.
func (m *members) settle(when string) {
	m.t.Helper()
	began := time.Now()
	var r *placement.Report
	if !proc.Poll(membersPatience, func() bool { r = m.placed(); return r != nil && r.Balanced && len(r.Nodes) == len(m.in) }) {
		text, _ := json.MarshalIndent(r, "", " ")
		m.t.Fatalf("%s: not settled: %s", when, text)
	}
	m.t.Logf("%s: settled after %v", when, time.Since(began).Round(time.Millisecond))
}
