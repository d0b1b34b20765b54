package clusterctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/placement"
	"lockstep/cmd/clusterctl/bench"
	"lockstep/cmd/clusterctl/doctor"
	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

// jsonOf runs a verb with -o json and decodes its output, which must have no unknown field.
func jsonOf(t *testing.T, into any, addr string, args ...string) int {
	t.Helper()
	out, errs, code := ctl2(t, addr, append(args, "-o", "json")...)
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || d.More() {
		t.Fatalf("%v: %v in %q (%s)", args, err, out, errs)
	}
	return code
}

// ctl2 runs clusterctl and returns its standard output and standard error separately.
func ctl2(t *testing.T, addr string, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(proc.Clusterctl(t), append([]string{"-a", addr}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// shardOf is the JSON of a shard as `shards` prints it.
type shardOf struct {
	status.Shard
	Members []struct {
		Node string `json:"node"`
		status.Group
	} `json:"members"`
}

// said is the JSON of verbs that answer with a text.
type said struct {
	Said string `json:"said"`
}

// Every verb that only reads prints a table, and JSON without an unknown field.
func TestTheClusterIsLookedAt(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 2})
	addr := c.Nodes[1].Addr()
	healthy(t, addr, 3, 0)

	// A call may happen during an election, so it is repeated.
	steady := func(what string, look func() bool) {
		t.Helper()
		proc.Wait(t, patience, what, look)
	}
	var whole status.Cluster
	steady("a healthy cluster", func() bool { whole = status.Cluster{}; return jsonOf(t, &whole, addr, "status") == 0 })
	if whole.Version != meta.KnownVersion() || len(whole.Layout) != 2 {
		t.Errorf("%+v", whole)
	}
	steady("the nodes and what they know", func() bool {
		var nodes []status.Node
		jsonOf(t, &nodes, addr, "nodes")
		return len(nodes) == 3 && nodes[0].KnowsVersion == meta.KnownVersion()
	})
	steady("the shards with their members", func() bool {
		var views []shardOf
		jsonOf(t, &views, addr, "shards")
		return len(views) == 2 && len(views[1].Members) == 3 && views[1].Members[0].Term > 0
	})
	var layout []status.Shard
	steady("the slots and who leads them", func() bool {
		layout = nil
		jsonOf(t, &layout, addr, "slots")
		return len(layout) > 0 && layout[0].Leader != ""
	})
	if len(layout) != 2 || layout[0].FirstSlot != 0 || layout[1].LastSlot != 16383 || len(layout[1].Replicas) != 3 {
		t.Errorf("slots: %+v", layout)
	}
	var top status.Cluster
	if jsonOf(t, &top, addr, "top", "--count", "1"); len(top.Nodes) != 3 {
		t.Errorf("top: %+v", top)
	}
	var report doctor.Report
	if jsonOf(t, &report, addr, "doctor"); report.Nodes != 3 || len(report.Checks) < 10 {
		t.Errorf("doctor: %+v", report)
	}
	var measured bench.Result
	if code := jsonOf(t, &measured, addr, "bench", "--for", "1s", "-c", "8"); code != 0 || measured.Writes.Calls == 0 || measured.Reads.P99 <= 0 {
		t.Errorf("bench: exit %d, %+v", code, measured)
	}
	var plan placement.Report
	if jsonOf(t, &plan, addr, "rebalance", "--dry-run"); len(plan.Nodes) != 3 || len(plan.Shards) != 2 {
		t.Errorf("rebalance --dry-run: %+v", plan)
	}
	for verb, words := range map[string][]string{
		"nodes":  {"NODE", "REPLICAS", c.Nodes[0].PeerAddr(), "member"},
		"shards": {"SHARD", "8192-16383", "leader", "follower"},
		"slots":  {"0-8191", "8192", "n1 n2 n3"},
	} {
		steady(fmt.Sprint(verb, " says ", words), func() bool {
			out, code := proc.Ctl(t, addr, verb)
			return code == 0 && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(out, w) })
		})
	}
	out, code := proc.Ctl(t, addr, "top", "--count", "2", "--every", "200ms")
	if code != 0 || strings.Count(out, "OPS/S") != 2 {
		t.Errorf("top: exit %d, %s", code, out)
	}
}

// Exit codes are for scripts: 3 for mistakes, 4 for refusals, 2 if no node answers.
func TestExitCodesTellWhatWentWrong(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	nobody := "127.0.0.1:1"
	for _, try := range []struct {
		addr, line string
		code       int
		words      string
	}{
		{n.Addr(), "nonsense", 3, "unknown command"},
		{n.Addr(), "status --output xml", 3, "--output is table or json"},
		{n.Addr(), "remove", 3, "accepts 1 arg"},
		{n.Addr(), "bench --reads 2", 3, "--reads is a part from 0 to 1"},
		{n.Addr(), "bench --kill-leader --transfer", 3, "not both"},
		{n.Addr(), "recover", 3, "--dir"},
		{n.Addr(), "top --every 1ms", 3, "--every"},
		{n.Addr(), "replace n1", 3, "name the old node and the new one"},
		{n.Addr(), "remove n1", 4, "no terminal to ask at; pass --yes"},
		{n.Addr(), "leave", 4, "pass --yes"},
		{n.Addr(), "replace n1 n2", 4, "pass --yes"},
		{n.Addr(), "bench --for 1s --kill-leader", 4, "pass --yes"},
		{n.Addr(), "leave --yes", 4, "is the only voter"},
		{n.Addr(), "remove n7 --yes", 4, `no node "n7"`},
		{n.Addr(), "drain n1", 4, "the only node that may lead"},
		{n.Addr(), "promote n7", 4, `no node "n7"`},
		{n.Addr(), "replace n1 n7 --yes", 4, `no node "n7"`},
		{n.Addr(), "replace n1 --yes -- --port 1", 4, "still answers"},
		{n.Addr(), "transfer --shard 3", 4, "no shard"},
		{n.Addr(), "recover --dir /nowhere/at/all --lost n2 --yes", 4, ""},
		{nobody, "status", 2, "no node answers"},
		{nobody, "drain n1", 2, "no node answers"},
		{nobody, "doctor", 2, "no node answers"},
	} {
		out, errs, code := ctl2(t, try.addr, strings.Fields(try.line)...)
		if code != try.code || !strings.Contains(errs, try.words) || strings.Contains(out, "removed") {
			t.Errorf("%s: exit %d, want %d; %s%s", try.line, code, try.code, out, errs)
		}
	}
	var s said
	if code := jsonOf(t, &s, n.Addr(), "snapshot"); code != 0 || !strings.Contains(s.Said, "written out") {
		t.Errorf("snapshot: exit %d, %+v", code, s)
	}
}

// The completion for shells lists what may follow, including the names of nodes.
func TestShellsAreToldWhatMayFollow(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 2, proc.Options{})
	addr := c.Nodes[0].Addr()
	healthy(t, addr, 2, 0)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, code := proc.Ctl(t, addr, "completion", shell); code != 0 || !strings.Contains(out, "clusterctl") {
			t.Errorf("%s: exit %d", shell, code)
		}
	}
	out, _ := proc.Ctl(t, addr, "__complete", "drain", "")
	says(t, out, "n1\n", "n2\n")
	out, _ = proc.Ctl(t, addr, "__complete", "replace", "n1", "")
	says(t, out, "n2\n")
	out, _ = proc.Ctl(t, addr, "__complete", "transfer", "--shard", "")
	says(t, out, "meta\n", "0\n", "all\n")
	out, _ = proc.Ctl(t, addr, "__complete", "re")
	says(t, out, "remove", "replace", "recover")
}

// In a healthy cluster the doctor reports only advice. In an unhealthy one, it reports the problems
// and what to do.
func TestTheDoctorExamines(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	addr := c.Nodes[0].Addr()
	healthy(t, addr, 3, 0)
	// Problems of the test's machine are not the cluster's fault.
	machine := map[string]bool{"disk-sync": true, "disk-space": true, "files": true}
	var ailing []doctor.Finding
	if !proc.Poll(patience, func() bool {
		var well doctor.Report
		jsonOf(t, &well, addr, "doctor")
		ailing = slices.DeleteFunc(well.Findings, func(f doctor.Finding) bool { return f.Level == doctor.Advice || machine[f.Check] })
		return len(ailing) == 0
	}) {
		t.Errorf("of a healthy cluster: %+v", ailing)
	}

	// A node with a low limit of open files, and then a dead one.
	few := c.Nodes[2]
	few.Stop()
	few.Limit("--nofile=512:512")
	few.Start()
	few.WaitReady()
	healthy(t, addr, 3, 0)
	dead := c.Nodes[1]
	dead.Kill9()
	// If the dead node led, the health is worse until another node leads. Also, a node may not
	// report on its machine in time.
	var out string
	proc.Wait(t, patience, "degraded", func() (degraded bool) {
		var code int
		out, code = proc.Ctl(t, addr, "doctor")
		return code == 1 && strings.Contains(out, "does not answer at") && strings.Contains(out, "risk (files)")
	})
	says(t, out, "risk (quorum): the cluster: one more node down and there is no quorum: the meta group, shard 0",
		"risk (members): n2: does not answer at "+dead.PeerAddr(), "start the nodes that are down, or replace them",
		"risk (files): n3: may open 512 files, and maxclients 10000 needs 10128", "LimitNOFILE=")
	few.Kill9()
	proc.Wait(t, patience, "no quorum", func() (lost bool) {
		var code int
		out, code = proc.Ctl(t, addr, "doctor")
		return code == 2
	})
	says(t, out, "ill (quorum): the cluster: without a quorum or a leader: the meta group, shard 0", "clusterctl recover")
}
