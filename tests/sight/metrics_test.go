package sight

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"lockstep/tests/kit/proc"
)

// TestNumbersMoveWithWhatHappens: the metrics change with events: a load, the death of a leader,
// and the loss of the quorum.
func TestNumbersMoveWithWhatHappens(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c, nodes := three(t)
	const writes = 100
	var leader, gateway *seen
	var before, atLeader page
	// On a busy machine the leader may change meanwhile. Then the test tries again.
	proc.Wait(t, patience, "one node leads through all calls", func() bool {
		var others []*seen
		leader, others = byRole(t, c, nodes)
		gateway = others[0]
		before, atLeader = gateway.scrape(t), leader.scrape(t)
		for i := range writes {
			proc.MustAsk(t, gateway.Addr(), "SET", "{sight}"+strconv.Itoa(i), "v")
		}
		proc.MustAsk(t, gateway.Addr(), "EXPIRE", "{sight}1", "1000")
		proc.MustAsk(t, gateway.Addr(), "GET", "{sight}1")
		_, _ = proc.Ask(gateway.Addr(), "LPUSH", "{sight}1", "x")
		after := leader.scrape(t)
		return leads(after) && after.sum("lockstep_raft_term", "shard=0") == atLeader.sum("lockstep_raft_term", "shard=0")
	})
	grows(t, gateway, before, writes, "lockstep_forwarded_calls_total")
	grows(t, gateway, before, writes, "redis_commands_total", "cmd=set")
	grows(t, gateway, before, writes, "redis_commands_latencies_usec", "cmd=set")
	grows(t, gateway, before, writes, "redis_commands_processed_total")
	grows(t, gateway, before, 1, "redis_net_input_bytes_total")
	grows(t, gateway, before, 1, "lockstep_error_replies_total", "code=WRONGTYPE")
	grows(t, gateway, before, 1, "redis_errors_total", "err=WRONGTYPE")
	grows(t, leader, atLeader, writes/2, "lockstep_raft_commit_seconds")
	grows(t, leader, atLeader, writes/2, "lockstep_raft_proposals_total", "shard=0", "outcome=committed")
	grows(t, leader, atLeader, writes, "lockstep_txns_total", "shard=0")
	grows(t, leader, atLeader, writes, "lockstep_lock_tickets_total", "shard=0")
	grows(t, leader, atLeader, 1, "redis_keyspace_hits_total")
	for _, n := range nodes {
		grows(t, n, page{}, writes, "lockstep_raft_log_fsync_seconds")
		proc.Wait(t, patience, n.Name+" has the keys", func() bool {
			p := n.scrape(t)
			return p.sum("redis_db_keys", "db=db0") == writes && p.sum("redis_db_keys_expiring") == 1 && p.sum("lockstep_raft_lag_entries") == 0
		})
	}
	proc.MustAsk(t, leader.Addr(), "LOCKSTEP", "SNAPSHOT")
	grows(t, leader, atLeader, 1, "lockstep_raft_snapshots_total", "shard=0")
	grows(t, leader, atLeader, 1, "lockstep_raft_snapshot_seconds")
	grows(t, leader, page{}, 100, "lockstep_raft_snapshot_size_bytes", "shard=0")
	grows(t, leader, page{}, 1, "lockstep_data_size_bytes", "what=log")
	grows(t, leader, page{}, 1, "lockstep_data_size_bytes", "what=snapshots")
	grows(t, leader, page{}, 1e-9, "lockstep_peer_round_trip_seconds", "peer="+gateway.Name)
	whoLeads(t, c, nodes)
	leaderDies(t, c, nodes)
	quorumIsLost(t, c, nodes)
}

// grows waits until a metric has grown by this much since a scrape.
func grows(t *testing.T, n *seen, since page, by float64, name string, labels ...string) {
	t.Helper()
	was := since.sum(name, labels...)
	proc.Wait(t, patience, fmt.Sprintf("%s%v of %s grows by %v from %v", name, labels, n.Name, by, was), func() bool {
		return n.scrape(t).sum(name, labels...) >= was+by
	})
}

// leads reports whether the node of a scrape says that it leads the first shard, and that it has no
// other role there.
func leads(p page) bool {
	return p.sum("lockstep_raft_state", "shard=0", "state=leader") == 1 && p.sum("lockstep_raft_state", "shard=0") == 1
}

// whoLeads waits until one node says that it leads and has recently heard from the other nodes.
func whoLeads(t *testing.T, c *proc.Cluster, nodes []*seen) {
	t.Helper()
	proc.Wait(t, patience, "one leads, hears all voters, and heard each a moment ago; the others follow", func() bool {
		leader, others := byRole(t, c, nodes)
		p := leader.scrape(t)
		if !leads(p) || p.sum("lockstep_raft_voters_answering", "shard=0") != 3 {
			return false
		}
		for _, n := range others {
			age, q := p.sum("lockstep_raft_peer_last_ack_seconds", "shard=0", "peer="+n.Name), n.scrape(t)
			if age <= 0 || age >= 2 || q.sum("lockstep_raft_state", "shard=0", "state=follower") != 1 || q.sum("lockstep_raft_voters_answering", "shard=0") != 0 {
				return false
			}
		}
		return true
	})
}

// leaderDies kills the leader. The others hold an election, and one of them wins it. That takes no
// node out of service.
func leaderDies(t *testing.T, c *proc.Cluster, nodes []*seen) {
	t.Helper()
	leader, others := byRole(t, c, nodes)
	sum := func(name string) float64 {
		return others[0].scrape(t).sum(name, "shard=0") + others[1].scrape(t).sum(name, "shard=0")
	}
	elections, won, changes := sum("lockstep_raft_elections_total"), sum("lockstep_raft_elections_won_total"), sum("lockstep_raft_leader_changes_total")
	leader.Kill9()
	proc.Wait(t, patience, "an election is stood for and won, and both hear of it", func() bool {
		for _, n := range others {
			if code, text := n.get("/readyz"); code != http.StatusOK {
				t.Fatalf("%s: an election took it out of service: %s", n.Name, text)
			}
		}
		return sum("lockstep_raft_elections_total") > elections && sum("lockstep_raft_elections_won_total") > won && sum("lockstep_raft_leader_changes_total") >= changes+2
	})
	next, _ := byRole(t, c, others)
	proc.Wait(t, patience, "the new leader sees that a voter is missing", func() bool {
		p := next.scrape(t)
		return p.sum("lockstep_raft_voters_answering", "shard=0") == 2 && p.sum("lockstep_raft_voters", "shard=0") == 3
	})
	proc.MustAsk(t, next.Addr(), "SET", "{sight}after", "v")
	leader.Start()
	leader.WaitReady()
	leader.await(t, "/readyz", http.StatusOK)
}

// quorumIsLost: if a leader has proposed a write and no other node acknowledges it, its outcome is
// unknown.
func quorumIsLost(t *testing.T, c *proc.Cluster, nodes []*seen) {
	t.Helper()
	var leader *seen
	var before page
	for _, n := range nodes {
		proc.MustAsk(t, n.Addr(), "CONFIG", "SET", "write-timeout-ms", "1500")
	}
	// A leader that has noticed that it is alone proposes nothing. Then the test tries again.
	proc.Wait(t, patience, "a write is proposed that nobody acknowledges", func() bool {
		var others []*seen
		leader, others = byRole(t, c, nodes)
		before = leader.scrape(t)
		for _, n := range others {
			n.Pause()
		}
		_, err := proc.Ask(leader.Addr(), "SET", "{sight}lost", "v")
		if err != nil && strings.Contains(err.Error(), "INDETERMINATE ") {
			return true
		}
		for _, n := range others {
			n.Continue()
		}
		return false
	})
	grows(t, leader, before, 1, "lockstep_unknown_outcomes_total")
	grows(t, leader, before, 1, "lockstep_error_replies_total", "code=INDETERMINATE")
	grows(t, leader, page{}, 1, "lockstep_shards_without_leader")
}

// TestSeriesAreBounded: the number of label values is bounded, whatever clients send.
func TestSeriesAreBounded(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	port := proc.FreePort(t)
	n := &seen{proc.NewNode(t, proc.Options{Args: []string{"--admin-port", strconv.Itoa(port)}}), "http://127.0.0.1:" + strconv.Itoa(port)}
	for i := range 300 {
		_, _ = proc.Ask(n.Addr(), "EVAL", fmt.Sprintf("return redis.error_reply('CODE%d text')", i), "0")
		_, _ = proc.Ask(n.Addr(), fmt.Sprintf("nosuchcommand%d", i))
		_, _ = proc.Ask(n.Addr(), "SET", strings.Repeat("k", i), "v")
	}
	series := 0
	for name, family := range n.scrape(t) {
		series += len(family.Metric)
		if strings.Contains(name, "code") || len(family.Metric) > 128 {
			t.Errorf("%s has %d series", name, len(family.Metric))
		}
	}
	if series > 700 {
		t.Errorf("there are %d series", series)
	}
}

// TestNamesAreTheExporters: a metric that has the name of a metric of redis_exporter also has its
// type and its labels.
func TestNamesAreTheExporters(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	path, err := exec.LookPath("prometheus-redis-exporter")
	if err != nil {
		proc.Skip(t, "prometheus-redis-exporter is not installed")
	}
	port := proc.FreePort(t)
	n := &seen{proc.NewNode(t, proc.Options{Args: []string{"--admin-port", strconv.Itoa(port), "--cluster-enabled", "yes"}}), "http://127.0.0.1:" + strconv.Itoa(port)}
	proc.MustAsk(t, n.Addr(), "SET", "k", "v", "EX", "100")
	listen := net.JoinHostPort("127.0.0.1", strconv.Itoa(proc.FreePort(t)))
	exporter := exec.Command(path, "-redis.addr", "redis://"+n.Addr(), "-web.listen-address", listen, "-is-cluster", "-include-system-metrics")
	if err := proc.StartMortal(exporter); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exporter.Process.Kill(); _ = exporter.Wait() })
	other := &seen{n.Node, "http://" + listen}
	other.await(t, "/metrics", http.StatusOK)
	theirs := other.scrape(t)
	// Only newer exporters have these metrics, with these labels.
	theirs["redis_commands_latencies_usec"] = &dto.MetricFamily{Type: dto.MetricType_HISTOGRAM.Enum()}
	theirs["redis_errors_total"] = &dto.MetricFamily{Type: dto.MetricType_COUNTER.Enum()}
	compared := 0
	for name, ours := range n.scrape(t) {
		if !strings.HasPrefix(name, "redis_") {
			continue
		}
		their := theirs[name]
		if their == nil {
			t.Errorf("the exporter has no %s", name)
			continue
		}
		compared++
		if their.GetType() != ours.GetType() {
			t.Errorf("%s is a %v, the exporter's a %v", name, ours.GetType(), their.GetType())
		}
		if len(their.Metric) > 0 && labels(their) != labels(ours) {
			t.Errorf("%s has the labels %s, the exporter's %s", name, labels(ours), labels(their))
		}
	}
	if compared < 35 {
		t.Errorf("%d metrics were compared", compared)
	}
}

func labels(f *dto.MetricFamily) string {
	var names []string
	for _, l := range f.Metric[0].Label {
		names = append(names, l.GetName())
	}
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return fmt.Sprint(set)
}
