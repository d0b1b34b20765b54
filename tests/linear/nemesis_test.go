package linear

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/engine/version"
	"lockstep/tests/kit/proc"
)

// nemesisFor is how long TestNemesis runs. With 0 it runs as long as usual.
var nemesisFor = flag.Duration("nemesis", 0, "how long TestNemesis does harm")

const (
	// roundLasts is the time within which the faults of a round begin and end.
	roundLasts = 4 * time.Second
	// troublesMean is about how many faults one round has.
	troublesMean = 3
)

// nemesis does everything at once: nodes are killed, stopped and paused, one or all, traffic
// between nodes is held in one direction or both, leaders are moved, snapshots are written and
// loaded, replicas move, disks are full, keys are evicted, programs are replaced by newer ones,
// clocks go wrong. After each round all faults end, and clients of every node must be served.
// Between two rounds a node may lose its folder and come back as another node, with the other log
// store.
type nemesis struct {
	t     *testing.T
	c     *proc.Cluster
	o     proc.Options
	w     *workload
	f     *faults
	r     *rand.Rand
	wires *wires
	// leader was the leader at the start of the round.
	leader *proc.Node
	// events are the events of a round. spokenFor holds the nodes that are killed or paused in the
	// round.
	events    []event
	spokenFor map[*proc.Node]bool
	// drained are the nodes that were drained in the round.
	drained []*proc.Node
	orders  orders
	// disks are the nodes' disks, if they have small ones.
	disks map[*proc.Node]*proc.SmallDisk
	// upgrades says between which programs nodes are upgraded, or is "" if they are not. past are
	// the nodes that still run the older program. newer is the program that replaces it.
	upgrades string
	past     map[*proc.Node]bool
	newer    string
	// stores are the nodes' log stores.
	stores map[*proc.Node]string
	// answers checks that the shards answer.
	answers *answers
	// long holds the writes of very long commands. lengthy means that this round has one.
	long    long
	lengthy bool
	// workMs is the work of this round's scripts so far. wrongClock means that a clock goes wrong
	// in this round.
	workMs     int
	wrongClock bool
}

// event is an event of a round.
type event struct {
	at   time.Duration
	what string
	do   func()
}

// orders are the operator's orders under way.
type orders struct{ open chan struct{} }

// ordersMost bounds the orders under way.
const ordersMost = 64

// give sends an order to a node. Its result does not matter.
func (o *orders) give(addr string, args ...string) {
	o.run(func() { _, _ = proc.Ask(addr, args...) })
}

// run does something in parallel with the round, which waits for it at its end.
func (o *orders) run(do func()) {
	select {
	case o.open <- struct{}{}:
	default:
		return // enough orders are waiting for a reply
	}
	go func() {
		do()
		<-o.open
	}()
}

// settle waits until all orders have their replies.
func (o *orders) settle() {
	for range ordersMost {
		o.open <- struct{}{}
	}
	for range ordersMost {
		<-o.open
	}
}

// smallDiskBytes is more than a node needs during a run.
const smallDiskBytes = 512 << 20

// drawOptions chooses the options of the cluster at random. It also returns the number of nodes.
func (n *nemesis) drawOptions() int {
	one := func(of ...string) string { return of[n.r.IntN(len(of))] }
	heartbeatMs := one("200", "400", "800")
	n.o = proc.Options{Shards: []int{1, 3}[n.r.IntN(2)], LogStore: one("boltdb", "wal"), Args: []string{
		"--read-mode", one("lease", "lease", "quorum"), "--raft-log-shared", one("yes", "no"),
		"--raft-heartbeat-ms", heartbeatMs, "--raft-election-ms", heartbeatMs,
		"--raft-snapshot-entries", one("64", "1024"), "--raft-trailing-entries", one("0", "8", "64", "1024"),
		"--write-timeout-ms", one("1500", "5000"), "--replica-repair-after-ms", "600000",
	}}
	switch n.r.IntN(4) {
	case 0:
		n.w.evicts = true
		n.o.Args = append(n.o.Args, "--maxmemory", "8mb", "--maxmemory-policy", one("volatile-lru", "volatile-lfu", "volatile-ttl", "volatile-random"))
	case 1:
		// A new file of raft-wal takes 64 MB at once.
		n.o.LogStore = "boltdb"
		n.disks = map[*proc.Node]*proc.SmallDisk{}
	}
	if n.r.IntN(3) == 0 {
		n.upgrades = one("from the version before", "to the next version")
	}
	return []int{3, 3, 5}[n.r.IntN(3)]
}

// before prepares a node for its first start.
func (n *nemesis) before(old string) func(*proc.Node) {
	return func(node *proc.Node) {
		n.wires.before(node)
		n.stores[node] = n.o.LogStore
		node.Become(old)
		if n.upgrades != "" {
			n.past[node] = true
		}
		if n.disks != nil {
			if d := proc.MountSmall(n.t, node, smallDiskBytes); d != nil {
				n.disks[node] = d
			}
		}
	}
}

// TestNemesis: whatever happens, acknowledged writes are there, once, in an order that agrees with
// time, and replicas are equal.
func TestNemesis(t *testing.T) {
	t.Parallel()
	seed := proc.Seed(t, uint64(time.Now().UnixNano()))
	n := &nemesis{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), wires: newWires(t), orders: orders{make(chan struct{}, ordersMost)},
		w:    &workload{history: NewHistory(), done: make(chan struct{}), rough: true},
		past: map[*proc.Node]bool{}, stores: map[*proc.Node]string{},
	}
	nodes, old := n.drawOptions(), proc.ClockedLockstepd(t)
	t.Logf("%d nodes, %d shards, %s, %v, small disks: %v, upgrades: %q", nodes, n.o.Shards, n.o.LogStore, n.o.Args, n.disks != nil, n.upgrades)
	linkedTo := func(newest int) string {
		return proc.ClockedLockstepd(t, fmt.Sprintf("lockstep/engine/version.newest=%d", newest))
	}
	switch n.upgrades {
	case "from the version before":
		old, n.newer = linkedTo(version.Known()-1), old
	case "to the next version":
		n.newer = linkedTo(version.Known() + 1)
	}
	n.o.Before = n.before(old)
	n.c = proc.NewCluster(t, nodes, n.o)
	n.w.cluster = n.c
	n.w.start()
	n.f = &faults{t: t, w: n.w}
	n.answers = watchAnswers(t, n.w, n.wires, n.o.Shards)
	n.f.awaitProgress()
	lasts := *nemesisFor
	if lasts == 0 {
		lasts = time.Duration(rounds(15, 600)) * time.Second
	}
	began := time.Now()
	done := 0
	for ; done < 3 || time.Since(began) < lasts; done++ {
		n.round()
		if n.r.IntN(4) == 0 {
			n.comeAnew()
		}
	}
	n.w.stop()
	t.Logf("the longest silence of each shard that could answer: %v", n.answers.stop())
	t.Logf("%d rounds in %v", done, time.Since(began).Round(time.Second))
	n.tally()
	// The following reads must be answered even on a slow machine, and behind a script that is
	// still running.
	for _, node := range n.c.Nodes {
		proc.MustAsk(t, node.Addr(), "CONFIG", "SET", "write-timeout-ms", "60000", "busy-reply-threshold", "60000")
	}
	n.long.verify(t, n.c.Nodes[0].Addr())
	verify(t, n.w)
}

// troubles are the possible faults of a round.
func (n *nemesis) troubles() []func(from, to time.Duration) {
	all := []func(from, to time.Duration){
		n.kill, n.kill, n.pause, n.pause, n.killAll, n.pauseAll, n.hold, n.hold, n.hold,
		n.transfers, n.transfers, n.snapshots, n.snapshots, n.drain, n.stop,
		n.narrow, n.narrow, n.strangers, n.strangers, n.burst, n.burst, n.limits, n.clock, n.clock,
	}
	if len(n.past) > 0 {
		all = append(all, n.upgrade, n.upgrade)
	}
	if len(n.disks) > 0 {
		all = append(all, n.fillDisk, n.fillDisk, n.fillDisk)
	}
	return all
}

// round chooses faults, lets them happen, and waits until the cluster has recovered.
func (n *nemesis) round() {
	n.t.Helper()
	n.events, n.drained, n.spokenFor, n.leader = nil, nil, map[*proc.Node]bool{}, n.c.WaitLeader()
	n.lengthy, n.workMs, n.wrongClock = false, 0, false
	troubles := n.troubles()
	for len(n.events) == 0 || n.r.IntN(troublesMean) > 0 {
		from := n.within(0, roundLasts/2)
		troubles[n.r.IntN(len(troubles))](from, n.within(from, roundLasts))
	}
	slices.SortStableFunc(n.events, func(a, b event) int { return int(a.at - b.at) })
	var told []string
	for _, e := range n.events {
		told = append(told, fmt.Sprintf("%v %s", e.at.Round(time.Millisecond), e.what))
	}
	n.f.begin("%s", strings.Join(told, "; "))
	began := time.Now()
	for _, e := range n.events {
		<-time.After(e.at - time.Since(began))
		e.do()
	}
	for _, node := range n.c.Nodes {
		proc.Wait(n.t, proc.ElectionPatience, node.Name+" answers", func() bool { return proc.Ping(node.Addr()) && node.Role() != "" })
	}
	n.orders.settle()
	for _, node := range n.drained {
		proc.Wait(n.t, proc.ElectionPatience, node.Name+" is drained no more", func() bool {
			_, err := proc.Ask(n.leader.Addr(), "LOCKSTEP", "DRAIN", node.Name, "OFF")
			return err == nil
		})
	}
	n.f.awaitProgress()
	for _, node := range n.c.Nodes {
		n.f.awaitNode(node)
	}
	if n.t.Failed() {
		n.t.FailNow()
	}
}

func (n *nemesis) within(from, to time.Duration) time.Duration {
	return from + time.Duration(n.r.Int64N(int64(to-from)+1))
}

func (n *nemesis) at(at time.Duration, what string, do func()) {
	n.events = append(n.events, event{at, what, do})
}

// node chooses a node, the leader more often than others.
func (n *nemesis) node() *proc.Node {
	if n.r.IntN(3) == 0 {
		return n.leader
	}
	return n.c.Nodes[n.r.IntN(len(n.c.Nodes))]
}

// free chooses a node that no other fault stops in this round. It returns nil if the node is taken.
func (n *nemesis) free() *proc.Node {
	node := n.node()
	if n.spokenFor[node] {
		return nil
	}
	n.spokenFor[node] = true
	return node
}

func (n *nemesis) kill(from, to time.Duration) {
	if node := n.free(); node != nil {
		n.killOne(node, from, to)
	}
}

func (n *nemesis) killOne(node *proc.Node, from, to time.Duration) {
	n.at(from, "kill -9 "+node.Name, func() { n.falls(node); node.Kill9() })
	n.at(to, "start "+node.Name, func() { node.Start(); n.rises(node) })
}

// falls is called before a node ends, rises when it has been started again. In between, its clients
// wait, and its votes do not count.
func (n *nemesis) falls(node *proc.Node) {
	n.answers.fell(node)
	n.w.lives[node.Index].Add(1)
}

func (n *nemesis) rises(node *proc.Node) {
	n.w.lives[node.Index].Add(1)
	n.answers.rose(node)
}

// stop ends a node with SIGTERM, and starts it again.
func (n *nemesis) stop(from, to time.Duration) {
	if node := n.free(); node != nil {
		n.at(from, "SIGTERM "+node.Name, func() { n.falls(node); node.Stop() })
		n.at(to, "start "+node.Name, func() { node.Start(); n.rises(node) })
	}
}

// upgrade replaces the program of a node by a newer one. When all have it, the cluster's version is
// raised.
func (n *nemesis) upgrade(from, to time.Duration) {
	node := n.free()
	if node == nil || !n.past[node] {
		return
	}
	delete(n.past, node)
	n.killOne(node, from, to)
	n.at(from, node.Name+" is to be of now", func() { node.Become(n.newer) })
}

// fillDisk fills the disk of a node. The node ends by itself when it has to write.
func (n *nemesis) fillDisk(from, to time.Duration) {
	node := n.free()
	if node == nil || n.disks[node] == nil {
		return
	}
	leave := n.r.Int64N(1 << 20)
	n.at(from, fmt.Sprintf("the disk of %s has %d bytes left", node.Name, leave), func() {
		n.falls(node)
		n.disks[node].Fill(leave)
	})
	n.at(to, "it has room again", func() {
		node.Kill9()
		n.disks[node].Empty()
		node.Start()
		n.rises(node)
	})
}

// comeAnew lets a node lose its folder, and come back as another node of the same name, with the
// other log store.
func (n *nemesis) comeAnew() {
	n.t.Helper()
	node, asked := n.c.Nodes[n.r.IntN(len(n.c.Nodes))], n.c.Nodes[n.r.IntN(len(n.c.Nodes))]
	if node == asked {
		return
	}
	store := map[string]string{"boltdb": "wal", "wal": "boltdb"}[n.stores[node]]
	if n.disks != nil {
		store = n.stores[node]
	}
	n.stores[node] = store
	n.f.begin("%s loses its folder, and asks %s to be taken in, with %s", node.Name, asked.Name, store)
	var lost []string
	proc.Wait(n.t, proc.ElectionPatience, asked.Name+" tells who "+node.Name+" is", func() bool { lost = membersNamed(asked, node.Name); return len(lost) == 1 })
	n.answers.fell(node) // until it votes again
	n.w.lives[node.Index].Add(1)
	node.Kill9()
	files, err := filepath.Glob(filepath.Join(node.DataDir(), "*"))
	for _, f := range files {
		err = errors.Join(err, os.RemoveAll(f))
	}
	if err != nil {
		n.t.Fatal(err)
	}
	node.Flags("--raft-log-store", store, "--bootstrap", "no", "--join", asked.PeerAddr(), "--replace", "yes")
	node.Start()
	n.w.lives[node.Index].Add(1)
	// Until the new node asks to join, the cluster counts the old one as a member. If another node
	// lost its folder then, the quorum would be lost.
	proc.Wait(n.t, proc.ElectionPatience, "another member is "+node.Name, func() bool {
		is := membersNamed(asked, node.Name)
		return len(is) == 1 && is[0] != lost[0]
	})
	n.c.WaitPlaced(asked, min(3, len(n.c.Nodes)))
	n.answers.rose(node)
	n.f.awaitProgress()
	n.f.awaitNode(node)
}

// membersNamed are the ids of the members with a name, whatever their state. It returns none if
// asked does not answer.
func membersNamed(asked *proc.Node, name string) []string {
	var ids []string
	if r := proc.Placement(asked); r != nil {
		for _, member := range r.Nodes {
			if member.Name == name {
				ids = append(ids, member.ID)
			}
		}
	}
	return ids
}

// killAll kills all nodes at once. They come back one after the other.
func (n *nemesis) killAll(from, to time.Duration) {
	for _, node := range n.c.Nodes {
		if !n.spokenFor[node] {
			n.spokenFor[node] = true
			n.killOne(node, from, n.within(from, to))
		}
	}
}

func (n *nemesis) pause(from, to time.Duration) {
	if node := n.free(); node != nil {
		n.pauseOne(node, from, to)
	}
}

func (n *nemesis) pauseOne(node *proc.Node, from, to time.Duration) {
	n.at(from, "SIGSTOP "+node.Name, func() { n.answers.fell(node); node.Pause() })
	n.at(to, "SIGCONT "+node.Name, func() { node.Continue(); n.answers.rose(node) })
}

func (n *nemesis) pauseAll(from, to time.Duration) {
	for _, node := range n.c.Nodes {
		if !n.spokenFor[node] {
			n.spokenFor[node] = true
			n.pauseOne(node, from, n.within(from, to))
		}
	}
}

// hold chooses connections between nodes whose traffic is held.
func (n *nemesis) hold(from, to time.Duration) {
	one := n.node()
	var ways []way
	for _, a := range n.c.Nodes {
		for _, b := range n.c.Nodes {
			if a != b {
				ways = append(ways, way{a.Name, b.Name})
			}
		}
	}
	out := func(x way) bool { return x.from == one.Name }
	in := func(x way) bool { return x.to == one.Name }
	what := ""
	switch kind := n.r.IntN(5); kind {
	case 0:
		what, ways = one.Name+" is cut off", keepWays(ways, func(x way) bool { return out(x) || in(x) })
	case 1:
		what, ways = one.Name+" is not heard", keepWays(ways, out)
	case 2:
		what, ways = one.Name+" is deaf", keepWays(ways, in)
	case 3:
		half := map[string]bool{}
		for _, node := range n.c.Nodes {
			half[node.Name] = n.r.IntN(2) == 0
		}
		what, ways = fmt.Sprintf("two parts, %v", half), keepWays(ways, func(x way) bool { return half[x.from] != half[x.to] })
	default:
		ways = keepWays(ways, func(way) bool { return n.r.IntN(3) == 0 })
		what = fmt.Sprint("held ", ways)
	}
	tear := n.r.IntN(2) == 0
	n.at(from, what, func() { n.wires.hold(ways) })
	n.at(to, fmt.Sprintf("it heals, torn: %v", tear), func() { n.wires.free(ways, tear) })
}

func keepWays(ways []way, want func(way) bool) []way {
	return slices.DeleteFunc(ways, func(x way) bool { return !want(x) })
}

// transfers moves leaders repeatedly, by orders to any node.
func (n *nemesis) transfers(from, to time.Duration) {
	for range 1 + n.r.IntN(6) {
		asked, shard := n.node(), strconv.Itoa(n.r.IntN(n.o.Shards))
		args := []string{"LOCKSTEP", "TRANSFER", shard}
		if n.r.IntN(2) == 0 {
			args = append(args, n.node().Name)
		}
		n.at(n.within(from, to), strings.Join(args[1:], " "), func() { n.orders.give(asked.Addr(), args...) })
	}
}

// snapshots makes nodes write snapshots and truncate their logs, or load their state again.
func (n *nemesis) snapshots(from, to time.Duration) {
	for range 1 + n.r.IntN(6) {
		asked, args := n.node(), []string{"LOCKSTEP", "SNAPSHOT"}
		if n.r.IntN(4) == 0 {
			args = []string{"DEBUG", "RELOAD"}
		}
		n.at(n.within(from, to), args[1]+" "+asked.Name, func() { n.orders.give(asked.Addr(), args...) })
	}
}

// drain moves replicas away from a node and back, if there are other nodes for them.
func (n *nemesis) drain(from, to time.Duration) {
	if len(n.c.Nodes) < 4 {
		return
	}
	node, asked := n.node(), n.node()
	n.drained = append(n.drained, node)
	n.at(from, "drain "+node.Name, func() { n.orders.give(asked.Addr(), "LOCKSTEP", "DRAIN", node.Name) })
	n.at(to, "drain "+node.Name+" off", func() { n.orders.give(asked.Addr(), "LOCKSTEP", "DRAIN", node.Name, "OFF") })
}

// tally prints how often each outcome occurred.
func (n *nemesis) tally() {
	count := map[Outcome]int{}
	for _, o := range n.w.history.Ops() {
		count[o.Outcome]++
	}
	n.t.Logf("%d commands done, %d refused, %d of unknown outcome", count[Done], count[Refused], count[Unknown])
	for _, node := range n.c.Nodes {
		n.t.Logf("%s: %s keys evicted, %d of the nodes are of the past", node.Name, proc.Info(node.Addr(), "stats")["evicted_keys"], len(n.past))
	}
	for _, f := range n.f.done {
		n.t.Logf("%6.1fs: %s", float64(f.at)/1e9, f.what)
	}
}
