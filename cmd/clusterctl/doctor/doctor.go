// Package doctor judges a cluster by what its nodes report about themselves and their
// machines: what is wrong, what is at risk, and what to do about it. It is pure: it asks
// no node; the caller passes the reports.
package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lockstep/node/status"
)

// Level is how bad a finding is.
type Level string

const (
	// Ill: data or service is in danger now.
	Ill Level = "ill"
	// Risk: one more failure, or more load, puts data or service in danger.
	Risk Level = "risk"
	// Advice: something could be better.
	Advice Level = "advice"
)

// Finding is one thing that is wrong, or could be better.
type Finding struct {
	Level Level `json:"level"`
	// Check is the name of the check.
	Check string `json:"check"`
	// Node is the node's name, empty for the whole cluster.
	Node string `json:"node,omitempty"`
	What string `json:"what"`
	// Do is what to do about it.
	Do string `json:"do"`
}

// Report is the result of an examination.
type Report struct {
	Cluster string `json:"cluster_id"`
	Nodes   int    `json:"nodes"`
	// Checks names all checks that were made.
	Checks   []string  `json:"checks"`
	Findings []Finding `json:"findings"`
}

// Worst is the worst level found, "" if all is well.
func (r *Report) Worst() Level {
	for _, l := range []Level{Ill, Risk, Advice} {
		if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == l }) {
			return l
		}
	}
	return ""
}

// exam is one examination.
type exam struct {
	cluster  *status.Cluster
	hosts    []status.Host
	findings []Finding
}

// checks are all checks, in the order of the report.
var checks = []struct {
	name string
	look func(*exam, string)
}{
	{"quorum", (*exam).quorum},
	{"members", (*exam).members},
	{"lag", (*exam).lag},
	{"disk-sync", (*exam).diskSync},
	{"disk-space", (*exam).diskSpace},
	{"log-store", (*exam).logStore},
	{"clock", (*exam).clock},
	{"log-clock", (*exam).logClock},
	{"versions", (*exam).versions},
	{"files", (*exam).files},
	{"memory", (*exam).memory},
	{"kernel", (*exam).kernel},
	{"certificates", (*exam).certificates},
	{"secret", (*exam).secret},
	{"backup", (*exam).backup},
}

// Examine judges a cluster.
func Examine(c *status.Cluster, hosts []status.Host) *Report {
	e := &exam{cluster: c, hosts: hosts, findings: []Finding{}}
	r := &Report{Cluster: c.ClusterID, Nodes: len(c.Nodes)}
	for _, check := range checks {
		r.Checks = append(r.Checks, check.name)
		check.look(e, check.name)
	}
	order := []Level{Ill, Risk, Advice}
	slices.SortStableFunc(e.findings, func(a, b Finding) int {
		return slices.Index(order, a.Level) - slices.Index(order, b.Level)
	})
	r.Findings = e.findings
	return r
}

func (e *exam) find(level Level, check, node, what, do string) {
	e.findings = append(e.findings, Finding{level, check, node, what, do})
}

// each calls look for every machine that answered.
func (e *exam) each(look func(h *status.Host)) {
	for i := range e.hosts {
		if e.hosts[i].Reachable {
			look(&e.hosts[i])
		}
	}
}

// quorum checks how many more nodes each group can lose.
func (e *exam) quorum(check string) {
	names := []string{"meta"}
	for i := range e.cluster.Shards {
		names = append(names, fmt.Sprint(i))
	}
	var none, thin, alone []string
	for _, name := range names {
		voters, alive, led := 0, 0, false
		for i := range e.cluster.Nodes {
			g := e.cluster.Nodes[i].Group(name)
			if g == nil || !e.cluster.Nodes[i].Reachable {
				continue
			}
			if g.Role != "learner" {
				alive++
			}
			if g.Role == "leader" {
				led = true
				voters = g.Voters
			}
			voters = max(voters, g.Voters)
		}
		title := status.GroupTitle(name)
		switch spare := alive - (voters/2 + 1); {
		case !led || spare < 0:
			none = append(none, title)
		case voters < 3:
			alone = append(alone, title)
		case spare == 0:
			thin = append(thin, title)
		}
	}
	if len(none) > 0 {
		e.find(Ill, check, "", "without a quorum or a leader: "+strings.Join(none, ", "),
			"start the nodes that are down; if they are lost for good, see `clusterctl recover`")
	}
	if len(thin) > 0 {
		e.find(Risk, check, "", "one more node down and there is no quorum: "+strings.Join(thin, ", "),
			"start the nodes that are down, or replace them (`clusterctl replace`)")
	}
	if len(alone) > 0 {
		e.find(Advice, check, "", "with fewer than three voters no node may fail: "+strings.Join(alone, ", "),
			"let nodes join (`clusterctl join`) until there are three or five")
	}
}

// members checks for nodes that do not answer, are drained, or are joining or leaving.
func (e *exam) members(check string) {
	for i := range e.cluster.Nodes {
		n := &e.cluster.Nodes[i]
		switch {
		case !n.Reachable:
			e.find(Risk, check, n.Name, "does not answer at "+n.PeerAddr,
				"start it, or mend the network between the nodes; if it is gone for good, replace or remove it")
		case n.Drained:
			e.find(Advice, check, n.Name, "is drained", fmt.Sprintf("when the work on it is done: clusterctl drain %s --off", n.Name))
		case n.Membership != "member":
			e.find(Advice, check, n.Name, "is "+n.Membership, "wait; `clusterctl status` says what it waits for")
		}
	}
	for i := range e.cluster.Nodes {
		n := &e.cluster.Nodes[i]
		for _, g := range n.Groups {
			if n.Reachable && g.Role != "leader" && g.SilentMs > status.SilentMostMs && e.isLed(g.Name) {
				e.find(Risk, check, n.Name, fmt.Sprintf("has not heard the leader of %s for %d s", status.GroupTitle(g.Name), g.SilentMs/1000),
					"mend the network between the two; it may be cut in one direction only, and open to all others")
			}
		}
	}
	for _, w := range e.cluster.Waiting() {
		e.find(Risk, check, "", w, "start the node that is waited for, or remove it")
	}
}

// isLed reports whether a node that answers leads the group.
func (e *exam) isLed(name string) bool {
	return slices.ContainsFunc(e.cluster.Nodes, func(n status.Node) bool {
		g := n.Group(name)
		return n.Reachable && g != nil && g.Role == "leader"
	})
}

// lagMax is how many entries a replica may be behind without a finding.
const lagMax = 10_000

func (e *exam) lag(check string) {
	for i := range e.cluster.Nodes {
		n := &e.cluster.Nodes[i]
		for _, g := range n.Groups {
			if g.Lag > lagMax {
				e.find(Risk, check, n.Name, fmt.Sprintf("is %d entries behind in %s", g.Lag, status.GroupTitle(g.Name)),
					"look for a slow disk, little CPU or a slow network on that node")
			}
		}
	}
}

// logStore checks for data folders with another log store than the setting, and explains the
// choice.
func (e *exam) logStore(check string) {
	for i := range e.cluster.Nodes {
		n := &e.cluster.Nodes[i]
		if n.LogStore == n.WantedLogStore {
			continue
		}
		e.find(Advice, check, n.Name, fmt.Sprintf("keeps its Raft logs in %s, with which its data folder was made, but raft-log-store is %s", n.LogStore, n.WantedLogStore),
			fmt.Sprintf("wal is about twice as fast, boltdb needs less disk. To keep %s set raft-log-store to it. To change it stop the node, empty its folder, "+
				"and start it with --join and --replace yes; one node at a time", n.LogStore))
	}
}

// versions checks for nodes with different programs.
func (e *exam) versions(check string) {
	least, most := math.MaxInt, 0
	by := map[string][]string{}
	var names []string
	for i := range e.cluster.Nodes {
		n := &e.cluster.Nodes[i]
		if !n.Reachable {
			continue
		}
		if by[n.Version] == nil {
			names = append(names, n.Version)
		}
		by[n.Version] = append(by[n.Version], n.Name)
		least, most = min(least, n.KnowsVersion), max(most, n.KnowsVersion)
	}
	if len(names) > 1 {
		var each []string
		for _, v := range names {
			each = append(each, fmt.Sprintf("%s on %s", v, strings.Join(by[v], ", ")))
		}
		e.find(Advice, check, "", "nodes run different versions: "+strings.Join(each, "; "), "finish the upgrade")
	}
	switch {
	case most > least:
		e.find(Advice, check, "", fmt.Sprintf("nodes know cluster versions up to %d and %d", least, most), "upgrade the older nodes")
	case len(names) > 0 && least > e.cluster.Version:
		e.find(Advice, check, "", fmt.Sprintf("the cluster is at version %d, all nodes know %d", e.cluster.Version, least),
			"when you will not go back to the older program: clusterctl upgrade")
	}
}
