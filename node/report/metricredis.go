package report

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"lockstep/engine"
	"lockstep/engine/commands/keycmd"
	"lockstep/node/clusterview"
	"lockstep/node/metrics"
	"lockstep/node/process"
)

// redisMetrics have the names, types and labels of redis_exporter, so that its dashboards work with
// a node. Keys are those of this node's replicas: a scrape asks no other node.
var redisMetrics = []metric{
	{metrics.Desc{Name: "redis_up", Kind: metrics.Gauge, Help: "Always 1. If a scrape fails, the scraper knows that the node does not answer."}, "the process", one(func(*look) int { return 1 })},
	{metrics.Desc{Name: "redis_instance_info", Kind: metrics.Gauge, Labels: []string{"role", "redis_version", "redis_build_id", "redis_mode", "os", "maxmemory_policy", "tcp_port", "run_id", "process_id"}, Help: "Always 1; the labels are those of INFO server."}, "INFO server", readInstance},
	{metrics.Desc{Name: "redis_start_time_seconds", Kind: metrics.Gauge, Help: "When the process started, in Unix time."}, "the process", one(func(l *look) int64 { return l.Started.Unix() })},
	{metrics.Desc{Name: "redis_commands_latencies_usec", Kind: metrics.Distribution, Labels: ofCommand, Help: "Time that each call of a command took, while latency-tracking is on."}, "LATENCY HISTOGRAM", readLatencies},
	{metrics.Desc{Name: "redis_errors_total", Kind: metrics.Counter, Labels: []string{"err"}, Help: "Error replies by their first word."}, "INFO errorstats", func(l *look, p *metrics.Page) {
		for _, e := range l.Stats.PerError() {
			p.Add(float64(e.Count), e.Prefix)
		}
	}},
	{metrics.Desc{Name: "redis_slowlog_length", Kind: metrics.Gauge, Help: "Entries in SLOWLOG."}, "SLOWLOG LEN", one(func(l *look) int { return l.Stats.Slowlog.Len() })},
	{metrics.Desc{Name: "redis_db_keys", Kind: metrics.Gauge, Labels: ofDatabase, Help: "Keys of this node's replicas."}, "the engine", perDatabase(func(c *keycmd.KeyCounts) float64 { return float64(c.Keys) })},
	{metrics.Desc{Name: "redis_db_keys_expiring", Kind: metrics.Gauge, Labels: ofDatabase, Help: "Keys of this node's replicas that have a time to live."}, "the engine", perDatabase(func(c *keycmd.KeyCounts) float64 { return float64(c.Volatile) })},
	{metrics.Desc{Name: "redis_db_avg_ttl_seconds", Kind: metrics.Gauge, Labels: ofDatabase, Help: "The average time to live of those keys."}, "the engine", perDatabase(func(c *keycmd.KeyCounts) float64 { return float64(c.MeanTTLMs(time.Now().Unix())) / 1000 })},
	{metrics.Desc{Name: "redis_config_maxmemory", Kind: metrics.Gauge, Help: "The same as redis_memory_max_bytes."}, "CONFIG", one(func(l *look) int64 { return l.s.Engine.MemoryBytesMax })},
	{metrics.Desc{Name: "redis_cluster_state", Kind: metrics.Gauge, Help: "Whether every hash slot has a leader."}, "routing", one(func(l *look) int { return yes(len(l.Leaderless()) == 0) })},
	{metrics.Desc{Name: "redis_cluster_known_nodes", Kind: metrics.Gauge, Help: "Nodes of the cluster."}, "CLUSTER INFO", one(func(l *look) int { return l.View.KnownNodes() })},
}

// ofCommand and ofDatabase are the labels of metrics per command and per database.
var (
	ofCommand  = []string{"cmd"}
	ofDatabase = []string{"db"}
)

func readInstance(l *look, p *metrics.Page) {
	p.Add(1, l.View.Role(), process.RedisVersion, "lockstep-"+process.Version, l.Mode(), runtime.GOOS+" "+runtime.GOARCH, string(l.s.MaxMemoryPolicy),
		strconv.Itoa(l.s.Port), clusterview.HexID(l.Self.Incarnation), strconv.Itoa(os.Getpid()))
}

func readLatencies(l *look, p *metrics.Page) {
	usec := map[string]uint64{}
	for _, c := range l.Stats.PerCommand() {
		usec[c.Name] = c.Usec
	}
	all := l.Stats.PerLatency()
	for i := range all {
		s := metrics.Snapshot{Count: all[i].Calls, Sum: float64(usec[all[i].Name])}
		for _, step := range all[i].Levels() {
			s.Bounds = append(s.Bounds, float64(step.Usec))
			s.Cumulated = append(s.Cumulated, step.Calls)
		}
		p.AddHistogram(s, all[i].Name)
	}
}

// perDatabase reads a metric with one series for each database with keys.
func perDatabase(value func(*keycmd.KeyCounts) float64) func(*look, *metrics.Page) {
	return func(l *look, p *metrics.Page) {
		for db := range engine.Databases {
			var sum keycmd.KeyCounts
			l.eachShard(func(g *groupLook, _ ...string) {
				sum.Add(keycmd.CountKeys(g.shard.Machine().Keyspace(), db, g.shard.Machine().DayOffsetMs()))
			})
			if sum.Keys > 0 || db == 0 {
				p.Add(value(&sum), "db"+strconv.Itoa(db))
			}
		}
	}
}
