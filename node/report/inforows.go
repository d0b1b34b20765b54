package report

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"lockstep/node/clusterview"
	"lockstep/node/process"
	"lockstep/proto/client"
	"lockstep/proto/pubsub"
)

// serverRows tell of the process and of who the node is.
var serverRows = []row{
	show("redis_version", func(*look) any { return process.RedisVersion }),
	always("server_name", "lockstep"),
	show("lockstep_version", func(*look) any { return process.Version }),
	always("redis_git_sha1", "00000000"),
	always("redis_git_dirty", 0),
	show("redis_build_id", func(*look) any { return "lockstep-" + process.Version }),
	show("redis_mode", func(l *look) any { return l.Mode() }),
	show("os", func(*look) any { return runtime.GOOS + " " + runtime.GOARCH }),
	show("arch_bits", func(*look) any { return strconv.IntSize }),
	always("monotonic_clock", "POSIX clock_gettime"),
	always("multiplexing_api", "epoll"),
	show("go_version", func(*look) any { return runtime.Version() }),
	show("process_id", func(*look) any { return os.Getpid() }).gauge("redis_process_id", "The process's number."),
	show("process_supervised", func(l *look) any { return l.SupervisedBy() }),
	show("run_id", func(l *look) any { return clusterview.HexID(l.Self.Incarnation) }),
	show("tcp_port", func(l *look) any { return l.s.Port }),
	show("server_time_usec", func(*look) any { return time.Now().UnixMicro() }),
	show("uptime_in_seconds", func(l *look) any { return int(time.Since(l.Started).Seconds()) }).gauge("redis_uptime_in_seconds", "Time since the start."),
	show("uptime_in_days", func(l *look) any { return int(time.Since(l.Started).Hours() / 24) }),
	always("hz", 10),
	always("configured_hz", 10),
	show("lru_clock", func(*look) any { return time.Now().Unix() & lruClockMask }),
	show("executable", func(*look) any { return executable() }),
	show("config_file", func(l *look) any { return l.Config.File() }),
	always("io_threads_active", 0),
	show("node_name", func(l *look) any { return l.Self.Name }),
	show("node_id", func(l *look) any { return string(l.Self.ID()) }),
	show("cluster_id", func(l *look) any { return l.Self.ClusterID }),
}

// clientRows tell of connections.
var clientRows = []row{
	show("connected_clients", func(l *look) any { return l.Registry.Len() }).gauge("redis_connected_clients", "Connected clients."),
	show("cluster_connections", func(l *look) any { return len(l.Machine.View().Live()) - 1 }),
	show("maxclients", func(l *look) any { return l.Config.Current().MaxClients }).gauge("redis_config_maxclients", "Clients there may be."),
	show("client_recent_max_input_buffer", func(l *look) any { return l.buffers().QueryMax }),
	show("client_recent_max_output_buffer", func(l *look) any { return l.buffers().WaitingMax }),
	show("blocked_clients", func(l *look) any { return l.Stats.Blocked.Load() }).gauge("redis_blocked_clients",
		"Clients that wait for a key to be filled."),
	show("tracking_clients", func(l *look) any { return l.Tracking.Counts().Clients }).gauge("lockstep_tracking_clients",
		"Clients that are told when what they cache changes."),
	show("pubsub_clients", func(l *look) any { return l.buffers().Listening }).gauge("lockstep_pubsub_clients",
		"Clients with subscriptions."),
	show("watching_clients", func(l *look) any { return l.buffers().Watching }),
	show("clients_in_timeout_table", func(l *look) any { return l.Stats.BlockedFor.Load() }),
}

// memoryRows tell of memory: that of the data, that of the process, and limits.
var memoryRows = []row{
	show("used_memory", func(l *look) any { return l.mem().UsedBytes }).gauge("redis_memory_used_bytes",
		"Memory of keys and values, scripts and functions: what maxmemory limits."),
	show("used_memory_human", func(l *look) any { return human(l.mem().UsedBytes) }),
	show("used_memory_rss", func(l *look) any { return l.mem().RSSBytes }).gauge("redis_memory_used_rss_bytes",
		"Memory of the process."),
	show("used_memory_rss_human", func(l *look) any { return human(l.mem().RSSBytes) }),
	show("used_memory_peak", func(l *look) any { return l.mem().PeakBytes }).gauge("redis_memory_used_peak_bytes", "The most that was."),
	show("used_memory_peak_human", func(l *look) any { return human(l.mem().PeakBytes) }),
	show("used_memory_peak_perc", func(l *look) any { return percent(l.mem().UsedBytes, l.mem().PeakBytes) }),
	show("used_memory_overhead", func(l *look) any { return l.mem().OverheadBytes }),
	always("used_memory_startup", 0),
	show("used_memory_dataset", func(l *look) any { return l.mem().UsedBytes - l.mem().OverheadBytes }).gauge("redis_memory_used_dataset_bytes",
		"Memory of keys and values without what keeps them in order."),
	show("used_memory_dataset_perc", func(l *look) any {
		return percent(l.mem().UsedBytes-l.mem().OverheadBytes, l.mem().UsedBytes)
	}),
	show("allocator_allocated", func(l *look) any { return l.mem().AllocatedBytes }).gauge("lockstep_heap_bytes",
		"Go's heap: data, garbage that is not collected yet, and buffers."),
	show("allocator_active", func(l *look) any { return l.mem().ActiveBytes }),
	show("allocator_resident", func(l *look) any { return l.mem().ResidentBytes }),
	show("allocator_frag_ratio", func(l *look) any {
		return fmt.Sprintf("%.2f", client.Ratio(l.mem().ActiveBytes, l.mem().AllocatedBytes))
	}),
	show("allocator_frag_bytes", func(l *look) any { return l.mem().ActiveBytes - l.mem().AllocatedBytes }),
	show("allocator_rss_ratio", func(l *look) any {
		return fmt.Sprintf("%.2f", client.Ratio(l.mem().ResidentBytes, l.mem().ActiveBytes))
	}),
	show("allocator_rss_bytes", func(l *look) any { return l.mem().ResidentBytes - l.mem().ActiveBytes }),
	show("rss_overhead_ratio", func(l *look) any {
		return fmt.Sprintf("%.2f", client.Ratio(l.mem().RSSBytes, l.mem().ResidentBytes))
	}),
	show("rss_overhead_bytes", func(l *look) any { return l.mem().RSSBytes - l.mem().ResidentBytes }),
	block(infoPrograms),
	show("go_heap_alloc", func(l *look) any { return l.runtime()[0] }),
	show("go_heap_sys", func(l *look) any { return l.runtime()[1] - l.runtime()[2] }),
	show("go_gc_cycles", func(l *look) any { return l.runtime()[3] }).counter("lockstep_gc_cycles_total",
		"Collections of garbage."),
	show("total_system_memory", func(*look) any { return process.TotalMemory() }).gauge("redis_total_system_memory_bytes",
		"Memory of the machine."),
	show("total_system_memory_human", func(*look) any { return human(process.TotalMemory()) }),
	show("maxmemory", func(l *look) any { return l.s.Engine.MemoryBytesMax }).gauge("redis_memory_max_bytes", "maxmemory; 0: no limit."),
	show("maxmemory_human", func(l *look) any { return human(l.s.Engine.MemoryBytesMax) }),
	show("maxmemory_policy", func(l *look) any { return l.s.MaxMemoryPolicy }),
	show("mem_fragmentation_ratio", func(l *look) any { return l.mem().Fragmentation() }).as("%.2f").gauge("redis_mem_fragmentation_ratio",
		"How many times the memory in use the process takes."),
	always("mem_allocator", "go"),
	always("lazyfree_pending_objects", 0),
	show("mem_fragmentation_bytes", func(l *look) any { return l.mem().RSSBytes - l.mem().AllocatedBytes }),
	show("mem_not_counted_for_evict", func(l *look) any { return l.mem().KeptBytes }),
	always("mem_replication_backlog", 0),
	always("mem_total_replication_buffers", 0),
	always("mem_clients_slaves", 0),
	show("mem_clients_normal", func(l *look) any { return l.mem().ClientBytes }),
	always("mem_cluster_links", 0),
	always("mem_aof_buffer", 0),
	always("active_defrag_running", 0),
	always("lazyfreed_objects", 0),
}

// persistenceRows tell of snapshots and of the log. What only Redis has, tools expect all the same.
var persistenceRows = []row{
	always("loading", 0).gauge("redis_loading_dump_file",
		"Always 0: a node that is scraped has loaded its data."),
	always("async_loading", 0),
	always("current_cow_peak", 0),
	always("current_cow_size", 0),
	always("current_cow_size_age", 0),
	always("current_save_keys_processed", 0),
	always("current_save_keys_total", 0),
	always("current_fork_perc", "0.00"),
	show("rdb_changes_since_last_save", func(l *look) any { return l.Saves.LoggedTxns() - l.Saves.Look().Txns }),
	show("rdb_bgsave_in_progress", func(l *look) any { return yes(l.Saves.Look().Busy) }).gauge("redis_rdb_bgsave_in_progress",
		"Whether a snapshot is being written."),
	show("rdb_last_save_time", func(l *look) any { return l.Saves.LastSnapshotUnix() }).gauge("redis_rdb_last_save_timestamp_seconds",
		"When SAVE or BGSAVE last succeeded, in Unix time."),
	show("rdb_last_bgsave_status", func(l *look) any { return l.Saves.Look().Status }),
	show("rdb_last_bgsave_time_sec", func(l *look) any { return l.Saves.Look().LastTookSec }),
	show("rdb_current_bgsave_time_sec", func(l *look) any { return l.Saves.Look().RunningSec }),
	show("rdb_saves", func(l *look) any { return l.Saves.Look().Done }),
	always("rdb_last_cow_size", 0),
	always("rdb_last_load_keys_expired", 0),
	always("rdb_last_load_keys_loaded", 0),
	always("aof_enabled", 1),
	always("aof_rewrite_in_progress", 0),
	always("aof_rewrite_scheduled", 0),
	always("aof_last_rewrite_time_sec", -1),
	always("aof_current_rewrite_time_sec", -1),
	always("aof_last_bgrewrite_status", "ok"),
	always("aof_rewrites", 0),
	always("aof_rewrites_consecutive_failures", 0),
	always("aof_last_write_status", "ok"),
	always("aof_last_cow_size", 0),
	always("module_fork_in_progress", 0),
	always("module_fork_last_cow_size", 0),
	show("raft_log_store", func(l *look) any { return l.Self.LogStore }),
}

// statsRows count what happened since the start.
var statsRows = []row{
	show("total_connections_received", func(l *look) any { return l.Registry.Total() }).counter("redis_connections_received_total",
		"Connections taken."),
	show("total_commands_processed", func(l *look) any { return l.Stats.Commands() }).counter("redis_commands_processed_total",
		"Commands of this node's clients."),
	show("instantaneous_ops_per_sec", func(l *look) any { return l.Survey.Rates.Ops() }),
	show("total_net_input_bytes", func(l *look) any { return l.Stats.In.Load() }).counter("redis_net_input_bytes_total",
		"Bytes from clients."),
	show("total_net_output_bytes", func(l *look) any { return l.Stats.Out.Load() }).counter("redis_net_output_bytes_total", "Bytes to clients."),
	always("total_net_repl_input_bytes", 0),
	always("total_net_repl_output_bytes", 0),
	show("instantaneous_input_kbps", func(l *look) any {
		return fmt.Sprintf("%.2f", float64(l.Survey.Rates.In())/1024)
	}),
	show("instantaneous_output_kbps", func(l *look) any {
		return fmt.Sprintf("%.2f", float64(l.Survey.Rates.Out())/1024)
	}),
	always("instantaneous_input_repl_kbps", "0.00"),
	always("instantaneous_output_repl_kbps", "0.00"),
	show("rejected_connections", func(l *look) any { return l.Stats.RejectedConns.Load() }).counter("redis_rejected_connections_total",
		"Connections not taken, for there were too many."),
	always("sync_full", 0),
	always("sync_partial_ok", 0),
	always("sync_partial_err", 0),
	show("expired_keys", func(l *look) any { return l.keys().expired }).counter("redis_expired_keys_total",
		"Keys that expired on this node's replicas."),
	always("expired_stale_perc", "0.00"),
	always("expired_time_cap_reached_count", 0),
	always("expire_cycle_cpu_milliseconds", 0),
	show("evicted_keys", func(l *look) any { return l.keys().evicted }).counter("redis_evicted_keys_total",
		"Keys that were evicted on this node's replicas."),
	show("evicted_clients", func(l *look) any { return l.Stats.EvictedClients.Load() }).counter("lockstep_client_evictions_total",
		"Clients closed for what all together held (maxmemory-clients)."),
	always("total_eviction_exceeded_time", 0),
	always("current_eviction_exceeded_time", 0),
	show("keyspace_hits", func(l *look) any { return l.keys().hits }).counter("redis_keyspace_hits_total",
		"Reads that found their key, on this node's replicas."),
	show("keyspace_misses", func(l *look) any { return l.keys().misses }).counter("redis_keyspace_misses_total",
		"Reads that found none."),
	show("pubsub_channels", func(l *look) any { return l.Messages.Hub().Names(pubsub.Channel) }).gauge("redis_pubsub_channels",
		"Channels with subscribers here."),
	show("pubsub_patterns", func(l *look) any { return l.Messages.Hub().Names(pubsub.Pattern) }).gauge("redis_pubsub_patterns",
		"Patterns with subscribers here."),
	show("pubsubshard_channels", func(l *look) any { return l.Messages.Hub().Names(pubsub.Shard) }).gauge("lockstep_pubsub_shard_channels",
		"Shard channels with subscribers here."),
	always("latest_fork_usec", 0),
	always("total_forks", 0),
	always("migrate_cached_sockets", 0),
	always("slave_expires_tracked_keys", 0),
	always("active_defrag_hits", 0),
	always("active_defrag_misses", 0),
	always("active_defrag_key_hits", 0),
	always("active_defrag_key_misses", 0),
	always("total_active_defrag_time", 0),
	always("current_active_defrag_time", 0),
	show("tracking_total_keys", func(l *look) any { return l.Tracking.Counts().Keys }).gauge("lockstep_tracking_keys",
		"Keys that they are told of."),
	show("tracking_total_items", func(l *look) any { return l.Tracking.Counts().Items }),
	show("tracking_total_prefixes", func(l *look) any { return l.Tracking.Counts().Prefixes }),
	show("feeds_heard", func(l *look) any { return l.Feeds.Intake.Counts().Feeds }),
	show("feeds_live", func(l *look) any { return l.Feeds.Intake.Counts().Live }),
	show("feeds_served", func(l *look) any { return l.Feeds.Source.Hearings() }),
	show("feed_batches", func(l *look) any { return l.Feeds.Intake.Counts().Batches }),
	show("feed_gaps", func(l *look) any { return l.Feeds.Intake.Counts().Gaps }),
	always("unexpected_error_replies", 0),
	show("total_error_replies", func(l *look) any { return l.Stats.Errors() }),
	always("dump_payload_sanitizations", 0),
	show("total_reads_processed", func(l *look) any { return l.Stats.Reads.Load() }),
	show("total_writes_processed", func(l *look) any { return l.Stats.Writes.Load() }),
	always("io_threaded_reads_processed", 0),
	always("io_threaded_writes_processed", 0),
	always("reply_buffer_shrinks", 0),
	always("reply_buffer_expands", 0),
	show("client_query_buffer_limit_disconnections", func(l *look) any { return l.Stats.QueryClosed.Load() }).counter("lockstep_client_query_limit_disconnections_total",
		"Clients closed for a request that was too large (client-query-buffer-limit)."),
	show("client_output_buffer_limit_disconnections", func(l *look) any { return l.Stats.OutputClosed.Load() }).counter("lockstep_client_output_limit_disconnections_total",
		"Clients closed for reading too slowly (client-output-buffer-limit)."),
	show("protocol_errors", func(l *look) any { return l.Stats.ProtocolErrors.Load() }).counter("lockstep_protocol_errors_total",
		"Clients closed for bytes that are no request."),
	show("acl_access_denied_auth", func(l *look) any { return l.Stats.ACLLog.Counts().Auth }),
	show("acl_access_denied_cmd", func(l *look) any { return l.Stats.ACLLog.Counts().Command }),
	show("acl_access_denied_key", func(l *look) any { return l.Stats.ACLLog.Counts().Key }),
	show("acl_access_denied_channel", func(l *look) any { return l.Stats.ACLLog.Counts().Channel }),
	show("forwarded_calls", func(l *look) any { return l.Router.Counters.Forwarded.Load() }).counter("lockstep_forwarded_calls_total",
		"Calls sent to the node that leads the shard."),
	show("retried_calls", func(l *look) any { return l.Router.Counters.Retried.Load() }).counter("lockstep_retried_calls_total",
		"Calls that were asked again, of another leader or after a pause."),
	show("script_texts_left_out", func(l *look) any { return l.Router.Counters.TextsLeftOut.Load() }).counter("lockstep_script_texts_left_out_total",
		"Calls of EVAL that entered the log without their text: the shard had the script."),
	show("script_texts_sent_again", func(l *look) any { return l.Router.Counters.TextsSentAgain.Load() }).counter("lockstep_script_texts_sent_again_total",
		"Calls sent anew with all texts, for a script had gone meanwhile (SCRIPT FLUSH, a full script cache): they had not run."),
	show("unknown_outcomes", func(l *look) any { return l.Router.Counters.Unknown.Load() }).counter("lockstep_unknown_outcomes_total",
		"Calls answered with INDETERMINATE: they may or may not have run."),
	show("no_leader_errors", func(l *look) any { return l.Router.Counters.NoLeader.Load() }).counter("lockstep_no_leader_errors_total",
		"Calls answered with CLUSTERDOWN, for no leader was found in time: they did not run."),
}

// replicationRows show the node as a master or a slave.
var replicationRows = []row{
	show("role", func(l *look) any { return l.View.Role() }),
	block(infoSlave),
	show("connected_slaves", func(l *look) any { return len(l.View.Replicas()) }).gauge("redis_connected_slaves",
		"Other nodes of the cluster."),
	block(infoSlaves),
	always("master_failover_state", "no-failover"),
	show("master_replid", func(l *look) any { return clusterview.HexID(l.Self.Incarnation) }),
	always("master_replid2", strings.Repeat("0", 40)),
	show("master_repl_offset", func(l *look) any { return l.View.Offset() }).gauge("redis_master_repl_offset",
		"The commit index of this node's first replica stands in for it."),
	always("second_repl_offset", -1),
	always("repl_backlog_active", 1),
	always("repl_backlog_size", 0),
	always("repl_backlog_first_byte_offset", 0),
	always("repl_backlog_histlen", 0),
}

// cpuRows tell of processor time.
var cpuRows = []row{
	show("used_cpu_sys", func(*look) any { return systemSeconds() }).as("%.6f").counter("redis_cpu_sys_seconds_total",
		"CPU time in the kernel."),
	show("used_cpu_user", func(*look) any { return userSeconds() }).as("%.6f").counter("redis_cpu_user_seconds_total",
		"CPU time in the program."),
	always("used_cpu_sys_children", "0.000000"),
	always("used_cpu_user_children", "0.000000"),
}

// clusterRows tell how the node shows itself.
var clusterRows = []row{
	show("cluster_enabled", func(l *look) any { return yes(l.s.ClusterEnabled) }).gauge("redis_cluster_enabled",
		"Whether the node shows itself as one of a cluster."),
}
