package clusterctl

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

func statusOf(t *testing.T, addr string) status.Cluster {
	t.Helper()
	out, _ := proc.Ctl(t, addr, "status", "-o", "json")
	var c status.Cluster
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return c
}

const patience = 90 * time.Second

// healthy waits until the node at addr sees a healthy cluster of this many nodes, in which each has
// every key, and returns its status.
func healthy(t *testing.T, addr string, nodes int, keys int64) status.Cluster {
	t.Helper()
	var c status.Cluster
	found := proc.Poll(patience, func() bool {
		// The node is first asked without clusterctl, which costs much less.
		first, _, _ := strings.Cut(addr, ",")
		text, err := proc.Ask(first, "LOCKSTEP", "STATUS")
		if c = (status.Cluster{}); err != nil || json.Unmarshal([]byte(text), &c) != nil || !whole(&c, nodes, keys) {
			return false
		}
		c = statusOf(t, addr)
		return whole(&c, nodes, keys)
	})
	if !found {
		t.Fatalf("not a healthy cluster of %d nodes with %d keys: %+v", nodes, keys, c)
	}
	return c
}

// whole reports whether a healthy cluster has this many nodes and each has every key.
func whole(c *status.Cluster, nodes int, keys int64) bool {
	if c.Health != status.Healthy || len(c.Nodes) != nodes {
		return false
	}
	for i := range c.Nodes {
		// A node that has every shard has every key.
		if n := &c.Nodes[i]; len(n.Groups) == c.Shards+1 && n.Keys != keys {
			return false
		}
		for _, g := range c.Nodes[i].Groups {
			if g.Voters != voters(c, g.Name) {
				return false
			}
		}
	}
	return true
}

// voters is how many voters a group should have.
func voters(c *status.Cluster, group string) int {
	const metaVotersMax = 5
	able := 0
	for i := range c.Nodes {
		if !c.Nodes[i].Learner {
			able++
		}
	}
	switch {
	case group == "meta":
		return min(able, metaVotersMax)
	case c.Wanted > 0:
		return min(able, c.Wanted)
	}
	return able
}

// nodeOf returns a node from a status, by name.
func nodeOf(t *testing.T, c status.Cluster, name string) status.Node {
	t.Helper()
	for i := range c.Nodes {
		if c.Nodes[i].Name == name {
			return c.Nodes[i]
		}
	}
	t.Fatalf("no node %s in %+v", name, c)
	return status.Node{}
}

// fill writes keys from:0 to from:<n-1>, each with its own name as value.
func fill(t *testing.T, addr, from string, n int) {
	t.Helper()
	for i := range n {
		key := from + ":" + strconv.Itoa(i)
		if _, err := proc.Ask(addr, "SET", key, key); err != nil {
			t.Fatal(err)
		}
	}
}

// holds checks what fill wrote, through a node.
func holds(t *testing.T, addr, from string, n int) {
	t.Helper()
	for i := range n {
		key := from + ":" + strconv.Itoa(i)
		if v, err := proc.Ask(addr, "GET", key); v != key || err != nil {
			t.Fatalf("%s through %s: %q, %v", key, addr, v, err)
		}
	}
}

// ends waits until a process ends by itself, and returns its exit status and the part of the log
// after the first `from` bytes.
func ends(t *testing.T, n *proc.Node, from int) (int, string) {
	t.Helper()
	proc.Wait(t, patience, n.Name+" ends", func() bool { return !n.Running() })
	code, _ := n.Ended()
	return code, n.Log()[from:]
}

// says fails the test unless the text has all the words.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not said in:\n%s", w, text)
		}
	}
}

// joiner is a node started by clusterctl join.
type joiner struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// exited reports whether the node's process has ended.
func (p *joiner) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the node's process with no chance to clean up.
func (p *joiner) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// join starts a node that joins the cluster at addr. The flags are passed to lockstepd.
func join(t *testing.T, addr, name string, flags ...string) *joiner {
	t.Helper()
	return ctlStart(t, addr, append([]string{"join", "--binary", proc.Lockstepd(t), "--", "--node-name", name}, flags...)...)
}

// ctlStart runs a verb whose process becomes a node, with a port and a folder of its own.
func ctlStart(t *testing.T, addr string, args ...string) *joiner {
	t.Helper()
	port := proc.FreePort(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(proc.Clusterctl(t), append([]string{"-a", addr}, args...)...)
	cmd.Args = append(cmd.Args, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", filepath.Join(t.TempDir(), "data"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := proc.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	p := &joiner{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		log.Close()
	})
	return p
}

// identityOf is the content of the identity file in a node's folder.
func identityOf(t *testing.T, n *proc.Node) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.DataDir(), "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An order that was executed in part is not reported as refused.
func TestAnOrderThatIsDoneInPartSaysSo(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 4, proc.Options{})
	addr := c.Nodes[0].Addr()
	s := healthy(t, addr, 4, 0)
	without := ""
	for _, n := range c.Nodes {
		if !slices.Contains(s.Layout[0].Replicas, n.Name) {
			without = n.Name
		}
	}
	// The transfer is refused if the node is behind at that moment, so it is repeated.
	var out string
	var code int
	if !proc.Poll(patience, func() bool {
		out, code = proc.Ctl(t, addr, "transfer", "--shard", "all", "--to", without)
		return code == 5
	}) {
		t.Errorf("exit %d", code)
	}
	says(t, out, "done in part: the meta group is led by "+without, "then: node "+without, "is not a member of the group")
	out, code = proc.Ctl(t, addr, "transfer", "--shard", "0", "--to", without)
	if code != 4 {
		t.Errorf("exit %d: %s", code, out)
	}
}
