package sight

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"lockstep/tests/kit/proc"
)

const deployed = "../../deploy/monitoring/"

// rules is a file with rules of Prometheus.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// dashboard holds the parts of a Grafana dashboard that the tests check.
type dashboard struct {
	Panels []struct {
		Title, Type string
		ID          int
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

// expressions returns the expressions of the alert rules and of the dashboard, by their places.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var r rules
	load(t, "alerts.yaml", func(data []byte) error {
		dec := yaml.NewDecoder(strings.NewReader(string(data)))
		dec.KnownFields(true)
		return dec.Decode(&r)
	})
	for _, g := range r.Groups {
		for _, rule := range g.Rules {
			if all[rule.Alert] != "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s is there twice or lacks something", rule.Alert)
			}
			all[rule.Alert] = rule.Expr
		}
	}
	var d dashboard
	load(t, "dashboard.json", func(data []byte) error { return json.Unmarshal(data, &d) })
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q has another's number, or no place, or nothing to show", p.Title)
		}
		ids[p.ID] = true
		for i, target := range p.Targets {
			all[p.Title+string(rune('A'+i))] = target.Expr
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			all["$"+v.Name] = strings.TrimSuffix(strings.TrimPrefix(v.Query, "label_values("), ", "+v.Name+")")
		}
	}
	if len(all) < 40 {
		t.Errorf("there are %d expressions", len(all))
	}
	return all
}

func load(t *testing.T, name string, into func([]byte) error) {
	t.Helper()
	data, err := os.ReadFile(deployed + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := into(data); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// promWords are words of PromQL that are not metrics.
var promWords = map[string]bool{
	"sum": true, "max": true, "min": true, "by": true, "rate": true, "increase": true, "abs": true, "floor": true, "topk": true, "histogram_quantile": true, "and": true, "or": true,
	"on": true, "count": true, "time": true,
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	grouping = regexp.MustCompile(`\b(?:by|on|group_left) \(([^)]*)\)`)
	matchers = regexp.MustCompile(`\{([^{}]*)\}`)
	matcher  = regexp.MustCompile(`^\s*([a-z_]+)\s*(=~|!~|!=|=)\s*""\s*$`)
	// chosen matches label values that are not variables.
	chosen   = regexp.MustCompile(`([a-z_]+)!?="([^"$]+)"`)
	ranges   = regexp.MustCompile(`\[(\d+[smhd]|\$__rate_interval)\]`)
	names    = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	whatRest = regexp.MustCompile(`^[a-zA-Z0-9_:\s()+\-*/<>=.,!]*$`)
)

// parsed parses an expression. It returns the metrics that the expression names, and the labels
// that it groups by or selects by. The rest must consist of numbers and operators, with balanced
// parentheses.
func parsed(t *testing.T, where, expr string) (metrics, labels []string) {
	t.Helper()
	rest := quoted.ReplaceAllString(expr, `""`)
	for _, m := range matchers.FindAllStringSubmatch(rest, -1) {
		for one := range strings.SplitSeq(m[1], ",") {
			parts := matcher.FindStringSubmatch(one)
			if parts == nil {
				t.Errorf("%s: %q chooses nothing", where, one)
				continue
			}
			labels = append(labels, parts[1])
		}
	}
	rest = ranges.ReplaceAllString(matchers.ReplaceAllString(rest, ""), "")
	for _, m := range grouping.FindAllStringSubmatch(rest, -1) {
		labels = append(labels, strings.Split(strings.ReplaceAll(m[1], " ", ""), ",")...)
	}
	rest = grouping.ReplaceAllString(rest, "")
	depth := 0
	for _, c := range rest {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 || !whatRest.MatchString(rest) {
		t.Errorf("%s: %q does not parse", where, expr)
	}
	for _, name := range names.FindAllString(rest, -1) {
		if !promWords[name] {
			metrics = append(metrics, name)
		}
	}
	if len(metrics) == 0 {
		t.Errorf("%s: %q names no metric", where, expr)
	}
	return metrics, labels
}

// led returns scrapes of all nodes, taken while both groups have a leader, because only leaders
// report some metrics.
func led(t *testing.T, nodes []*seen) (all []page) {
	t.Helper()
	proc.Wait(t, patience, "both groups have a leader", func() bool {
		all = nil
		leaders := 0.0
		for _, n := range nodes {
			p := n.scrape(t)
			leaders += p.sum("lockstep_raft_state", "state=leader")
			all = append(all, p)
		}
		return leaders == 2
	})
	return all
}

// TestDashboardAndRulesNameWhatThereIs: every metric that the dashboard and the rules name is in a
// real scrape, with the labels that they use.
func TestDashboardAndRulesNameWhatThereIs(t *testing.T) {
	all := expressions(t)
	c, nodes := three(t)
	leader, _ := byRole(t, c, nodes)
	proc.MustAsk(t, leader.Addr(), "SET", "k", "v")
	// The metrics on other nodes exist once the nodes have measured each other.
	for _, n := range nodes {
		grows(t, n, page{}, 1e-9, "lockstep_peer_round_trip_seconds")
	}
	// Prometheus itself adds these labels.
	always := map[string]bool{"job": true, "instance": true, "le": true}
	scraped, labelled := page{}, map[string]bool{}
	valued := map[string]bool{}
	for _, p := range led(t, nodes) {
		for name, family := range p {
			scraped[name] = family
			for _, m := range family.Metric {
				for _, l := range m.Label {
					labelled[name+"/"+l.GetName()] = true
					valued[name+"/"+l.GetName()+"/"+l.GetValue()] = true
				}
			}
		}
	}
	// These metrics have no series without errors, contention or TLS. The tables of the document
	// list them.
	list, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [a-z]+ \\| ([a-z_, ]*) \\|")
	rare := map[string]bool{
		"lockstep_error_replies_total": true, "lockstep_lock_slot_waits_total": true,
		"lockstep_certificate_expires_timestamp_seconds": true, "lockstep_certificate_files_unusable": true,
	}
	for _, m := range declared.FindAllStringSubmatch(string(list), -1) {
		if rare[m[1]] && scraped[m[1]] == nil {
			scraped[m[1]] = nil
			for l := range strings.SplitSeq(m[2], ", ") {
				labelled[m[1]+"/"+l] = true
			}
		}
	}
	for where, expr := range all {
		metrics, labels := parsed(t, where, expr)
		for _, m := range chosen.FindAllStringSubmatch(expr, -1) {
			there := always[m[1]]
			for _, name := range metrics {
				there = there || valued[name+"/"+m[1]+"/"+m[2]]
			}
			if !there {
				t.Errorf("%s: nothing has %s=%q", where, m[1], m[2])
			}
		}
		known := map[string]bool{}
		for _, name := range metrics {
			name = strings.TrimSuffix(name, "_bucket")
			if _, there := scraped[name]; !there && name != "up" {
				t.Errorf("%s: there is no metric %s", where, name)
			}
			for _, l := range labels {
				known[l] = known[l] || labelled[name+"/"+l]
			}
		}
		for l, there := range known {
			if !there && !always[l] {
				t.Errorf("%s: none of its metrics has the label %s", where, l)
			}
		}
	}
}
