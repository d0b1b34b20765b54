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
	"lockstep/proto/pubsub"
	"lockstep/proto/stats"
)

// redisMetrics have the names, types and labels that redis_exporter gives them,
// so that dashboards made for it draw a node. Keys are those of this node's
// replicas: a scrape asks no other node.
var redisMetrics = []metric{
	{metrics.Desc{Name: "redis_up", Kind: metrics.Gauge, Help: "Always 1. If a scrape fails, the scraper knows that the node does not answer."}, "the process", one(func(*look) int { return 1 })},
	{metrics.Desc{Name: "redis_instance_info", Kind: metrics.Gauge, Labels: []string{"role", "redis_version", "redis_build_id", "redis_mode", "os", "maxmemory_policy", "tcp_port", "run_id", "process_id"}, Help: "Always 1; the labels are those of INFO server."}, "INFO server", readInstance},
	{metrics.Desc{Name: "redis_uptime_in_seconds", Kind: metrics.Gauge, Help: "Time since the start."}, "INFO server", one(func(l *look) int64 { return int64(time.Since(l.Started).Seconds()) })},
	{metrics.Desc{Name: "redis_start_time_seconds", Kind: metrics.Gauge, Help: "When the process started, in Unix time."}, "the process", one(func(l *look) int64 { return l.Started.Unix() })},
	{metrics.Desc{Name: "redis_process_id", Kind: metrics.Gauge, Help: "The process id."}, "INFO server", one(func(*look) int { return os.Getpid() })},
	{metrics.Desc{Name: "redis_connected_clients", Kind: metrics.Gauge, Help: "Connected clients."}, "INFO clients", one(func(l *look) int { return l.Registry.Len() })},
	{metrics.Desc{Name: "redis_blocked_clients", Kind: metrics.Gauge, Help: "Clients that wait for a key to be filled."}, "INFO clients", one(func(l *look) int64 { return l.Stats.Blocked.Load() })},
	{metrics.Desc{Name: "redis_config_maxclients", Kind: metrics.Gauge, Help: "The most clients that may be connected."}, "CONFIG", one(func(l *look) int { return l.s.MaxClients })},
	{metrics.Desc{Name: "redis_connections_received_total", Kind: metrics.Counter, Help: "Connections accepted."}, "INFO stats", one(func(l *look) uint64 { return l.Registry.Total() })},
	{metrics.Desc{Name: "redis_rejected_connections_total", Kind: metrics.Counter, Help: "Connections refused, because there were too many."}, "INFO stats", one(func(l *look) uint64 { return l.Stats.RejectedConns.Load() })},
	{metrics.Desc{Name: "redis_net_input_bytes_total", Kind: metrics.Counter, Help: "Bytes from clients."}, "INFO stats", one(func(l *look) uint64 { return l.Stats.In.Load() })},
	{metrics.Desc{Name: "redis_net_output_bytes_total", Kind: metrics.Counter, Help: "Bytes to clients."}, "INFO stats", one(func(l *look) uint64 { return l.Stats.Out.Load() })},
	{metrics.Desc{Name: "redis_commands_processed_total", Kind: metrics.Counter, Help: "Commands of this node's clients."}, "INFO stats", one(func(l *look) uint64 { return l.Stats.Commands() })},
	{metrics.Desc{Name: "redis_commands_total", Kind: metrics.Counter, Labels: ofCommand, Help: "Calls of a command."}, "INFO commandstats", perCommand(func(c *stats.CommandStat) float64 { return float64(c.Calls) })},
	{metrics.Desc{Name: "redis_commands_duration_seconds_total", Kind: metrics.Counter, Labels: ofCommand, Help: "Time that calls of a command took, including the wait for the quorum."}, "INFO commandstats", perCommand(func(c *stats.CommandStat) float64 { return float64(c.Usec) / 1e6 })},
	{metrics.Desc{Name: "redis_commands_failed_calls_total", Kind: metrics.Counter, Labels: ofCommand, Help: "Calls that ran and failed."}, "INFO commandstats", perCommand(func(c *stats.CommandStat) float64 { return float64(c.Failed) })},
	{metrics.Desc{Name: "redis_commands_rejected_calls_total", Kind: metrics.Counter, Labels: ofCommand, Help: "Calls that were refused before they ran."}, "INFO commandstats", perCommand(func(c *stats.CommandStat) float64 { return float64(c.Rejected) })},
	{metrics.Desc{Name: "redis_commands_latencies_usec", Kind: metrics.Distribution, Labels: ofCommand, Help: "Time that each call of a command took, while latency-tracking is on."}, "LATENCY HISTOGRAM", readLatencies},
	{metrics.Desc{Name: "redis_errors_total", Kind: metrics.Counter, Labels: []string{"err"}, Help: "Error replies by their first word."}, "INFO errorstats", func(l *look, p *metrics.Page) {
		for _, e := range l.Stats.PerError() {
			p.Add(float64(e.Count), e.Prefix)
		}
	}},
	{metrics.Desc{Name: "redis_slowlog_length", Kind: metrics.Gauge, Help: "Entries in SLOWLOG."}, "SLOWLOG LEN", one(func(l *look) int { return l.Stats.Slowlog.Len() })},
	{metrics.Desc{Name: "redis_keyspace_hits_total", Kind: metrics.Counter, Help: "Reads that found their key, on this node's replicas."}, "INFO stats", one(func(l *look) int64 { return l.keyspaceSums().hits })},
	{metrics.Desc{Name: "redis_keyspace_misses_total", Kind: metrics.Counter, Help: "Reads that did not find their key, on this node's replicas."}, "INFO stats", one(func(l *look) int64 { return l.keyspaceSums().misses })},
	{metrics.Desc{Name: "redis_expired_keys_total", Kind: metrics.Counter, Help: "Keys that expired on this node's replicas."}, "INFO stats", one(func(l *look) int64 { return l.keyspaceSums().expired })},
	{metrics.Desc{Name: "redis_evicted_keys_total", Kind: metrics.Counter, Help: "Keys that were evicted on this node's replicas."}, "INFO stats", one(func(l *look) int64 { return l.keyspaceSums().evicted })},
	{metrics.Desc{Name: "redis_db_keys", Kind: metrics.Gauge, Labels: ofDatabase, Help: "Keys of this node's replicas."}, "the engine", perDatabase(func(c *keycmd.KeyCounts) float64 { return float64(c.Keys) })},
	{metrics.Desc{Name: "redis_db_keys_expiring", Kind: metrics.Gauge, Labels: ofDatabase, Help: "Keys of this node's replicas that have a time to live."}, "the engine", perDatabase(func(c *keycmd.KeyCounts) float64 { return float64(c.Volatile) })},
	{metrics.Desc{Name: "redis_db_avg_ttl_seconds", Kind: metrics.Gauge, Labels: ofDatabase, Help: "The average time to live of those keys."}, "the engine", perDatabase(func(c *keycmd.KeyCounts) float64 { return float64(c.MeanTTLMs(time.Now().Unix())) / 1000 })},
	{metrics.Desc{Name: "redis_pubsub_channels", Kind: metrics.Gauge, Help: "Channels with subscribers here."}, "INFO stats", one(func(l *look) int { return int(l.Messages.Hub().Names(pubsub.Channel)) })},
	{metrics.Desc{Name: "redis_pubsub_patterns", Kind: metrics.Gauge, Help: "Patterns with subscribers here."}, "INFO stats", one(func(l *look) int { return int(l.Messages.Hub().Names(pubsub.Pattern)) })},
	{metrics.Desc{Name: "redis_memory_used_bytes", Kind: metrics.Gauge, Help: "Memory of keys and values, scripts and functions: what maxmemory limits."}, "INFO memory", one(func(l *look) int64 { return l.mem.UsedBytes })},
	{metrics.Desc{Name: "redis_memory_used_peak_bytes", Kind: metrics.Gauge, Help: "The peak of redis_memory_used_bytes."}, "INFO memory", one(func(l *look) int64 { return l.mem.PeakBytes })},
	{metrics.Desc{Name: "redis_memory_used_rss_bytes", Kind: metrics.Gauge, Help: "Memory of the process."}, "INFO memory", one(func(l *look) int64 { return l.mem.RSSBytes })},
	{metrics.Desc{Name: "redis_memory_used_dataset_bytes", Kind: metrics.Gauge, Help: "Memory of keys and values, without the structures that hold them."}, "INFO memory", one(func(l *look) int64 { return l.mem.UsedBytes - l.mem.OverheadBytes })},
	{metrics.Desc{Name: "redis_memory_max_bytes", Kind: metrics.Gauge, Help: "maxmemory; 0 for no limit."}, "INFO memory", one(func(l *look) int64 { return l.s.Engine.MemoryBytesMax })},
	{metrics.Desc{Name: "redis_config_maxmemory", Kind: metrics.Gauge, Help: "The same as redis_memory_max_bytes."}, "CONFIG", one(func(l *look) int64 { return l.s.Engine.MemoryBytesMax })},
	{metrics.Desc{Name: "redis_mem_fragmentation_ratio", Kind: metrics.Gauge, Help: "Memory of the process divided by the memory in use."}, "INFO memory", one(func(l *look) float64 { return l.mem.Fragmentation() })},
	{metrics.Desc{Name: "redis_total_system_memory_bytes", Kind: metrics.Gauge, Help: "Memory of the machine."}, "INFO memory", one(func(*look) int64 { return process.TotalMemory() })},
	{metrics.Desc{Name: "redis_cpu_sys_seconds_total", Kind: metrics.Counter, Help: "CPU time in the kernel."}, "INFO cpu", one(func(*look) float64 { _, system := process.CPUSeconds(); return system })},
	{metrics.Desc{Name: "redis_cpu_user_seconds_total", Kind: metrics.Counter, Help: "CPU time in the program."}, "INFO cpu", one(func(*look) float64 { user, _ := process.CPUSeconds(); return user })},
	{metrics.Desc{Name: "redis_loading_dump_file", Kind: metrics.Gauge, Help: "Always 0: a node that is scraped has loaded its data."}, "INFO persistence", one(func(*look) int { return 0 })},
	{metrics.Desc{Name: "redis_rdb_bgsave_in_progress", Kind: metrics.Gauge, Help: "Whether a snapshot is being written."}, "INFO persistence", one(func(l *look) int { return yes(l.Saves.Look().Busy) })},
	{metrics.Desc{Name: "redis_rdb_last_save_timestamp_seconds", Kind: metrics.Gauge, Help: "When SAVE or BGSAVE last succeeded, in Unix time."}, "INFO persistence", one(func(l *look) int64 { return l.Saves.LastSnapshotUnix() })},
	{metrics.Desc{Name: "redis_connected_slaves", Kind: metrics.Gauge, Help: "Other nodes of the cluster."}, "INFO replication", one(func(l *look) int { return len(l.View.Replicas()) })},
	{metrics.Desc{Name: "redis_master_repl_offset", Kind: metrics.Gauge, Help: "The commit index of this node's first replica, in place of Redis's offset."}, "INFO replication", one(func(l *look) int64 { return l.View.Offset() })},
	{metrics.Desc{Name: "redis_cluster_enabled", Kind: metrics.Gauge, Help: "Whether the node presents itself as part of a cluster."}, "INFO cluster", one(func(l *look) int { return yes(l.s.ClusterEnabled) })},
	{metrics.Desc{Name: "redis_cluster_state", Kind: metrics.Gauge, Help: "Whether every hash slot has a leader."}, "routing", one(func(l *look) int { return yes(len(l.Leaderless()) == 0) })},
	{metrics.Desc{Name: "redis_cluster_known_nodes", Kind: metrics.Gauge, Help: "Nodes of the cluster."}, "CLUSTER INFO", one(func(l *look) int { return l.View.KnownNodes() })},
}

// ofCommand and ofDatabase are the labels of what each command or database has.
var (
	ofCommand  = []string{"cmd"}
	ofDatabase = []string{"db"}
)

func readInstance(l *look, p *metrics.Page) {
	p.Add(1, l.View.Role(), process.RedisVersion, "lockstep-"+process.Version, l.Mode(), runtime.GOOS+" "+runtime.GOARCH, string(l.s.MaxMemoryPolicy),
		strconv.Itoa(l.s.Port), clusterview.HexID(l.Self.Incarnation), strconv.Itoa(os.Getpid()))
}

func perCommand(value func(*stats.CommandStat) float64) func(*look, *metrics.Page) {
	return func(l *look, p *metrics.Page) {
		all := l.Stats.PerCommand()
		for i := range all {
			p.Add(value(&all[i]), all[i].Name)
		}
	}
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
			for i := range l.groups {
				if s := l.groups[i].shard; s != nil {
					sum.Add(keycmd.CountKeys(s.Machine().Keyspace(), db, s.Machine().DayOffsetMs()))
				}
			}
			if sum.Keys > 0 || db == 0 {
				p.Add(value(&sum), "db"+strconv.Itoa(db))
			}
		}
	}
}
