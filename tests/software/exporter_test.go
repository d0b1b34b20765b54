package software

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// scrape starts the exporter, waits until its metrics have lines that match the patterns, and
// returns its log. It waits because a follower may get a write a moment later.
func scrape(t *testing.T, addr string, patterns []string, args ...string) (log string) {
	t.Helper()
	path, err := exec.LookPath("prometheus-redis-exporter")
	if err != nil {
		proc.Skip(t, "prometheus-redis-exporter is not installed")
	}
	listen := fmt.Sprintf("127.0.0.1:%d", proc.FreePort(t))
	said := background(t, exec.CommandContext(deadline(t), path, append([]string{"-redis.addr", "redis://" + addr, "-web.listen-address", listen}, args...)...))
	series, missing := "", ""
	if !proc.Poll(patience, func() bool {
		missing = "the exporter answers"
		res, err := http.Get("http://" + listen + "/metrics")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			return false
		}
		series, missing = string(text), ""
		for _, want := range patterns {
			if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(series) {
				missing = want
			}
		}
		return missing == ""
	}) {
		t.Errorf("it never came: %s\n%s", missing, series)
	}
	return said()
}

// exporter runs Debian's redis_exporter for Prometheus, with everything that it can check without a
// script.
func exporter(t *testing.T, addr string) {
	proc.MustAsk(t, addr, "RPUSH", "exporter:list", "a", "b", "c")
	proc.MustAsk(t, addr, "SET", "exporter:number", "42", "EX", "1000")
	proc.MustAsk(t, addr, "XADD", "exporter:stream", "1-1", "f", "v")
	proc.MustAsk(t, addr, "XGROUP", "CREATE", "exporter:stream", "g", "0")
	log := scrape(t, addr, []string{
		`redis_up 1`, `redis_exporter_last_scrape_error\{err=""\} 0`,
		`redis_instance_info\{.*redis_mode="cluster".*\} 1`, `redis_uptime_in_seconds \d+`, `redis_start_time_seconds \S+`,
		`redis_connected_clients [1-9]\d*`, `redis_blocked_clients 0`, `redis_connected_clients_details\{.*name="redis_exporter".*\} 1`, `redis_connections_received_total [1-9]\S*`,
		`redis_memory_used_bytes [1-9]\S*`, `redis_memory_max_bytes 0`, `redis_config_maxmemory 0`, `redis_total_system_memory_bytes [1-9]\S*`,
		`redis_commands_processed_total [1-9]\S*`, `redis_commands_total\{cmd="rpush"\} [1-9]\S*`, `redis_commands_duration_seconds_total\{cmd="set"\} \S+`,
		`redis_keyspace_hits_total \d\S*`, `redis_expired_keys_total \d+`, `redis_evicted_keys_total 0`, `redis_pubsub_channels 0`, `redis_slowlog_length \d+`,
		`redis_cpu_user_seconds_total [0-9.]+`, `redis_net_input_bytes_total [1-9]\S*`,
		`redis_db_keys\{db="db0"\} 3`, `redis_db_keys_expiring\{db="db0"\} 1`, `redis_keys_count\{db="db0",key="exporter:\*"\} 3`,
		`redis_key_size\{db="db0",key="exporter:list"\} 3`, `redis_key_value\{db="db0",key="exporter:number"\} 42`,
		`redis_stream_length\{db="db0",stream="exporter:stream"\} 1`, `redis_stream_groups\{db="db0",stream="exporter:stream"\} 1`,
		`redis_cluster_state 1`, `redis_cluster_slots_ok 16384`, `redis_cluster_known_nodes 3`, `redis_connected_slaves 2`,
		`redis_config_value\{key="databases"\} 16`,
	},
		"-check-keys", "exporter:*", "-check-single-keys", "exporter:list", "-check-streams", "exporter:s*", "-count-keys", "exporter:*",
		"-export-client-list", "-include-config-metrics", "-include-system-metrics", "-ping-on-connect", "-is-cluster")
	// Of the commands of a scrape, only LATENCY may be missing.
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=error") && !(strings.Contains(line, "LATENCY") && lacks(addr, "LATENCY", "LATEST")) {
			t.Errorf("the exporter says: %s", line)
		}
	}
}

// exporterGroups lets the exporter count keys and their memory by groups. It does so with a script
// that walks all keys.
func exporterGroups(t *testing.T, addr string) {
	for _, key := range []string{"group:a:1", "group:a:2", "group:b:1"} {
		proc.MustAsk(t, addr, "SET", key, strings.Repeat("v", 100))
	}
	log := scrape(t, addr, []string{
		`redis_up 1`,
		`redis_key_group_count\{db="db0",key_group="group:a"\} 2`, `redis_key_group_count\{db="db0",key_group="group:b"\} 1`,
		`redis_key_group_memory_usage_bytes\{db="db0",key_group="group:a"\} [2-9]\d\d`,
		`redis_number_of_distinct_key_groups\{db="db0"\} 2`, `redis_last_key_groups_scrape_duration_milliseconds \S+`,
	}, "-check-key-groups", "^(group:[a-z]+),^(nobody:.*)")
	if strings.Contains(log, "key group") || strings.Contains(log, "key_group") {
		t.Errorf("the exporter says: %s", log)
	}
}
