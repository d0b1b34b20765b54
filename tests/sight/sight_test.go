// Package sight observes real nodes as an operator does: through metrics, probes and logs, while
// the nodes start, work, lose each other and stop.
package sight

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

// seen is a node with the address of its admin port.
type seen struct {
	*proc.Node
	admin string
}

// join starts a node with an admin port and the given flags.
func join(t *testing.T, c *proc.Cluster, flags ...string) *seen {
	t.Helper()
	port := proc.FreePort(t)
	return &seen{c.Join(proc.Options{Args: append(flags, "--admin-port", strconv.Itoa(port))}), fmt.Sprintf("http://127.0.0.1:%d", port)}
}

// three starts a cluster of three nodes.
func three(t *testing.T, flags ...string) (*proc.Cluster, []*seen) {
	t.Helper()
	proc.NeedProcesses(t)
	first := proc.FreePort(t)
	c := proc.NewCluster(t, 1, proc.Options{Args: append(flags, "--admin-port", strconv.Itoa(first))})
	nodes := []*seen{{c.Nodes[0], fmt.Sprintf("http://127.0.0.1:%d", first)}}
	for range 2 {
		n := join(t, c, flags...)
		n.WaitReady()
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		n.await(t, "/readyz", http.StatusOK)
		proc.Wait(t, patience, "the three vote", func() bool { return n.scrape(t).sum("lockstep_raft_voters") == 6 })
	}
	return c, nodes
}

// patience bounds the waits for changes that a healthy cluster makes by itself.
const patience = 60 * time.Second

var browser = http.Client{Timeout: patience}

// get reads a path of the admin port. It returns code 0 if there is no answer.
func (n *seen) get(path string) (code int, text string) {
	res, err := browser.Get(n.admin + path)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(body)
}

// await waits until a path answers with the wanted code.
func (n *seen) await(t *testing.T, path string, want int) {
	t.Helper()
	var code int
	var text string
	if !proc.Poll(patience, func() bool { code, text = n.get(path); return code == want }) {
		t.Fatalf("%s: %s is %d (%s), want %d", n.Name, path, code, strings.TrimSpace(text), want)
	}
}

func (n *seen) expect(t *testing.T, path string, want int) {
	t.Helper()
	if code, text := n.get(path); code != want {
		t.Errorf("%s: %s is %d (%s), want %d", n.Name, path, code, strings.TrimSpace(text), want)
	}
}

// page is one scrape, parsed as Prometheus parses it.
type page map[string]*dto.MetricFamily

func (n *seen) scrape(t *testing.T) page {
	t.Helper()
	code, text := n.get("/metrics")
	if code != http.StatusOK {
		t.Fatalf("%s: /metrics is %d: %s", n.Name, code, text)
	}
	return parse(t, text)
}

func parse(t *testing.T, text string) page {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("Prometheus cannot read this: %v\n%s", err, text)
	}
	return families
}

// sum adds up the series of a metric that have all the labels, each given as name=value. For a
// histogram it adds up the counts.
func (p page) sum(name string, labels ...string) float64 {
	total := 0.0
	for _, m := range p[name].GetMetric() {
		has := map[string]bool{}
		for _, l := range m.Label {
			has[l.GetName()+"="+l.GetValue()] = true
		}
		all := true
		for _, l := range labels {
			all = all && has[l]
		}
		if all {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// byRole splits the running nodes into the leader of the first shard and the others.
func byRole(t *testing.T, c *proc.Cluster, nodes []*seen) (leader *seen, others []*seen) {
	t.Helper()
	lead := c.WaitLeader()
	for _, n := range nodes {
		if n.Node == lead {
			leader = n
		} else if n.Running() {
			others = append(others, n)
		}
	}
	return leader, others
}
