package sight

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"lockstep/tests/kit/proc"
)

// alarm is the test of a rule: the series of a sick cluster and of a healthy one, in promtool's
// notation, each with its values.
type alarm struct {
	alert string
	// at is the time of the check. every is the interval at which the rules are evaluated.
	at, every string
	sick      map[string]string
	// labels are the labels of the alert that fires, without severity.
	labels map[string]string
	well   map[string]string
}

const (
	nodeA = `job="lockstep",instance="a"`
	nodeB = `job="lockstep",instance="b"`
	nodeX = `job="lockstep",instance="x"`
)

var (
	labelsOfA = map[string]string{"job": "lockstep", "instance": "a"}
	shardOfA  = with(labelsOfA, "shard", "0")
	clusterC  = map[string]string{"cluster_id": "c"}
)

func with(labels map[string]string, name, value string) map[string]string {
	all := map[string]string{name: value}
	for n, v := range labels {
		all[n] = v
	}
	return all
}

// one returns the name of a series of node a, with more labels.
func one(name, labels string) string { return name + "{" + nodeA + labels + "}" }

// info adds the series that say to which clusters three nodes belong: a and b to c, x to d.
func info(series map[string]string) map[string]string {
	for node, cluster := range map[string]string{nodeA: "c", nodeB: "c", nodeX: "d"} {
		series["lockstep_node_info{"+node+`,cluster_id="`+cluster+`"}`] = "1+0x5000"
	}
	return series
}

// steady is a series of node a with one value all the time.
func steady(name, labels, value string) map[string]string {
	return map[string]string{one(name, labels): value + "+0x5000"}
}

// jumps is a series of node a that grows by one after two minutes.
func jumps(name, labels string) map[string]string {
	return map[string]string{one(name, labels): "0+0x4 1+0x5000"}
}

// syncs is a histogram of syncs that are all in the same bucket.
func syncs(bucket string) map[string]string {
	all := map[string]string{}
	for _, le := range []string{"0.01", "0.1", "0.5", "+Inf"} {
		all[one("lockstep_raft_log_fsync_seconds_bucket", `,le="`+le+`"`)] = "0+0x100"
	}
	for _, le := range []string{bucket, "+Inf"} {
		all[one("lockstep_raft_log_fsync_seconds_bucket", `,le="`+le+`"`)] = "0+10x100"
	}
	if bucket == "0.01" {
		for _, le := range []string{"0.1", "0.5"} {
			all[one("lockstep_raft_log_fsync_seconds_bucket", `,le="`+le+`"`)] = "0+10x100"
		}
	}
	return all
}

// both merges two maps.
func both(a, b map[string]string) map[string]string {
	for k, v := range b {
		a[k] = v
	}
	return a
}

const shard0 = `,shard="0"`

var alarms = []alarm{
	{"LockstepNodeDown", "2m", "30s", steady("up", "", "0"), labelsOfA, steady("up", "", "1")},
	{"LockstepAllNodesDown", "2m", "30s",
		map[string]string{one("up", ""): "0+0x20", "up{" + nodeB + "}": "0+0x20"}, map[string]string{"job": "lockstep"},
		map[string]string{one("up", ""): "0+0x20", "up{" + nodeB + "}": "1+0x20"}},
	// In another cluster the shard of the same number has a leader.
	{"LockstepNoLeader", "1m", "30s",
		info(map[string]string{one("lockstep_raft_has_leader", shard0): "0+0x20", "lockstep_raft_has_leader{" + nodeX + shard0 + "}": "1+0x20"}), with(clusterC, "shard", "0"),
		info(map[string]string{one("lockstep_raft_has_leader", shard0): "0+0x20", "lockstep_raft_has_leader{" + nodeB + shard0 + "}": "1+0x20"})},
	{"LockstepQuorumAtRisk", "2m", "30s",
		both(steady("lockstep_raft_voters_answering", shard0, "2"), steady("lockstep_raft_voters", shard0, "3")), shardOfA,
		both(both(steady("lockstep_raft_voters_answering", shard0, "3"), steady("lockstep_raft_voters", shard0, "3")),
			both(steady("lockstep_raft_voters_answering", `,shard="1"`, "1"), steady("lockstep_raft_voters", `,shard="1"`, "1")))},
	{"LockstepLeaderUnsteady", "16m", "30s", map[string]string{one("lockstep_raft_leader_changes_total", shard0): "0+1x40"}, shardOfA, steady("lockstep_raft_leader_changes_total", shard0, "7")},
	{"LockstepReplicaCutOff", "2m", "30s", steady("lockstep_raft_last_contact_seconds", shard0, "60"), shardOfA, steady("lockstep_raft_last_contact_seconds", shard0, "1")},
	{"LockstepReplicaBehind", "6m", "30s", steady("lockstep_raft_lag_entries", shard0, "20000"), shardOfA, steady("lockstep_raft_lag_entries", shard0, "9")},
	{"LockstepPeerBehind", "6m", "30s",
		steady("lockstep_raft_peer_lag_entries", shard0+`,peer="n2"`, "20000"), with(shardOfA, "peer", "n2"), steady("lockstep_raft_peer_lag_entries", shard0+`,peer="n2"`, "9")},
	{"LockstepDiskSlow", "12m", "30s", syncs("0.5"), map[string]string{"instance": "a"}, syncs("0.01")},
	{"LockstepDiskFull", "6m", "30s",
		both(steady("lockstep_disk_free_bytes", "", "15"), steady("lockstep_disk_size_bytes", "", "100")), labelsOfA,
		both(steady("lockstep_disk_free_bytes", "", "50"), steady("lockstep_disk_size_bytes", "", "100"))},
	{"LockstepDiskAlmostFull", "1m", "30s",
		both(steady("lockstep_disk_free_bytes", "", "4"), steady("lockstep_disk_size_bytes", "", "100")), labelsOfA,
		both(steady("lockstep_disk_free_bytes", "", "15"), steady("lockstep_disk_size_bytes", "", "100"))},
	{"LockstepMemoryFull", "6m", "30s",
		both(steady("redis_memory_used_bytes", "", "96"), steady("redis_memory_max_bytes", "", "100")), labelsOfA,
		both(steady("redis_memory_used_bytes", "", "96"), steady("redis_memory_max_bytes", "", "0"))},
	{"LockstepUnknownOutcomes", "4m", "30s", jumps("lockstep_unknown_outcomes_total", ""), labelsOfA, steady("lockstep_unknown_outcomes_total", "", "3")},
	{"LockstepPanics", "10m", "30s", jumps("lockstep_panics_total", shard0), shardOfA, steady("lockstep_panics_total", shard0, "3")},
	{"LockstepConnectionPanics", "10m", "30s", jumps("lockstep_connection_panics_total", `,port="peer"`), with(labelsOfA, "port", "peer"), steady("lockstep_connection_panics_total", `,port="peer"`, "3")},
	{"LockstepSnapshotsFail", "10m", "30s", jumps("lockstep_raft_snapshot_failures_total", shard0), shardOfA, steady("lockstep_raft_snapshot_failures_total", shard0, "3")},
	// The clock of these tests begins at 0. There is no alert for a cluster that was never backed
	// up.
	{"LockstepBackupOld", "37h", "1m", info(steady("lockstep_last_backup_timestamp_seconds", "", "1")), clusterC, info(steady("lockstep_last_backup_timestamp_seconds", "", "0"))},
	{"LockstepClockWrong", "2m", "30s", steady("lockstep_clock_wrong", "", "1"), labelsOfA, steady("lockstep_clock_wrong", "", "0")},
	{"LockstepTimeOfDayWrong", "2m", "30s", steady("lockstep_day_ahead_seconds", shard0, "-3600"), shardOfA, steady("lockstep_day_ahead_seconds", shard0, "0.4")},
	{"LockstepCertificateExpires", "2h", "1m",
		steady("lockstep_certificate_expires_timestamp_seconds", `,use="node"`, "1000000"), with(labelsOfA, "use", "node"), steady("lockstep_certificate_expires_timestamp_seconds", `,use="node"`, "9000000")},
	{"LockstepCertificateAlmostExpired", "1m", "30s",
		steady("lockstep_certificate_expires_timestamp_seconds", `,use="node"`, "100000"), with(labelsOfA, "use", "node"), steady("lockstep_certificate_expires_timestamp_seconds", `,use="node"`, "1000000")},
	{"LockstepCertificateFilesUnusable", "6m", "30s", steady("lockstep_certificate_files_unusable", "", "1"), labelsOfA, steady("lockstep_certificate_files_unusable", "", "0")},
	{"LockstepUpgradeHalfDone", "7h", "1m",
		info(map[string]string{one("lockstep_build_info", `,version="1"`): "1+0x5000", "lockstep_build_info{" + nodeB + `,version="2"}`: "1+0x5000"}), clusterC,
		info(map[string]string{one("lockstep_build_info", `,version="1"`): "1+0x5000", "lockstep_build_info{" + nodeX + `,version="2"}`: "1+0x5000"})},
}

// TestAlertsFireForTheSick: Prometheus' own promtool reads the rules and the dashboard. Each rule
// fires for a cluster that has its fault, and does not fire for a healthy one.
func TestAlertsFireForTheSick(t *testing.T) {
	t.Parallel()
	promtool := proc.Tool(t, "promtool")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args[:2], err, out)
		}
	}
	run("check", "rules", deployed+"alerts.yaml")
	run("check", "rules", asRules(t))
	dir := t.TempDir()
	severities := bare(t, dir)
	tried := map[string]bool{}
	files := []string{"test", "rules"}
	for _, a := range alarms {
		if severities[a.alert] == "" {
			t.Errorf("there is no rule %s", a.alert)
		}
		tried[a.alert] = true
		fires := map[string]any{"exp_labels": with(a.labels, "severity", severities[a.alert])}
		path := filepath.Join(dir, a.alert+".yaml")
		inYAML(t, path, map[string]any{
			"rule_files": []string{a.alert + ".rule.yaml"}, "evaluation_interval": a.every,
			"tests": []any{trial(&a, a.sick, fires), trial(&a, a.well)},
		})
		files = append(files, path)
	}
	for alert := range severities {
		if !tried[alert] {
			t.Errorf("%s is not tried", alert)
		}
	}
	run(files...)
}

// trial returns a test for promtool: these series must give these alerts.
func trial(a *alarm, series map[string]string, fires ...any) map[string]any {
	var input []any
	for name, values := range series {
		input = append(input, map[string]string{"series": name, "values": values})
	}
	return map[string]any{
		"interval": a.every, "input_series": input,
		"alert_rule_test": []any{map[string]any{"eval_time": a.at, "alertname": a.alert, "exp_alerts": fires}},
	}
}

// bare writes each rule into a file of its own, and returns the severities. It leaves out the
// annotations, because promtool would compare them word by word.
func bare(t *testing.T, dir string) map[string]string {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string           `yaml:"name"`
			Rules []map[string]any `yaml:"rules"`
		} `yaml:"groups"`
	}
	load(t, "alerts.yaml", func(data []byte) error { return yaml.Unmarshal(data, &file) })
	severities := map[string]string{}
	for _, g := range file.Groups {
		for _, rule := range g.Rules {
			delete(rule, "annotations")
			alert := rule["alert"].(string)
			severities[alert] = rule["labels"].(map[string]any)["severity"].(string)
			inYAML(t, filepath.Join(dir, alert+".rule.yaml"), map[string]any{"groups": []any{map[string]any{"name": g.Name, "rules": []any{rule}}}})
		}
	}
	return severities
}

// asRules writes the dashboard's expressions as rules, because promtool reads only rules.
func asRules(t *testing.T) string {
	t.Helper()
	var d dashboard
	load(t, "dashboard.json", func(data []byte) error { return json.Unmarshal(data, &d) })
	var rules []any
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			rules = append(rules, map[string]string{"record": fmt.Sprintf("panel%d_%d", p.ID, len(rules)), "expr": expr})
		}
	}
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	inYAML(t, path, map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	return path
}

func inYAML(t *testing.T, path string, what any) {
	t.Helper()
	data, err := yaml.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
