package node

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/keycmd"
	"lockstep/engine/reply"
	"lockstep/fsm"
	"lockstep/node/config"
	"lockstep/proto/client"
	"lockstep/proto/pubsub"
)

// infoSection is one section of INFO.
type infoSection struct {
	name  string
	write func(*Node, *infoText)
	// extra sections are shown only when asked for, or with "all".
	extra bool
}

// infoSections are all sections in the order of INFO.
var infoSections = []infoSection{
	{name: "server", write: infoServer}, {name: "clients", write: infoClients}, {name: "memory", write: infoMemory},
	{name: "persistence", write: infoPersistence}, {name: "stats", write: infoStats}, {name: "replication", write: infoReplication},
	{name: "cpu", write: infoCPU}, {name: "commandstats", write: infoCommandStats, extra: true},
	{name: "errorstats", write: infoErrorStats}, {name: "latencystats", write: infoLatencyStats, extra: true},
	{name: "modules", write: func(*Node, *infoText) {}}, {name: "cluster", write: infoCluster}, {name: "tls", write: infoTLS}, {name: "raft", write: infoRaft},
	{name: "locks", write: infoLocks, extra: true}, {name: "keyspace", write: infoKeyspace},
}

// infoText builds INFO's text: lines end with CRLF.
type infoText struct{ b strings.Builder }

func (t *infoText) section(name string) {
	if t.b.Len() > 0 {
		t.b.WriteString("\r\n")
	}
	title := strings.ToUpper(name[:1]) + name[1:]
	if name == "cpu" || name == "tls" {
		title = strings.ToUpper(name)
	}
	t.b.WriteString("# " + title + "\r\n")
}

func (t *infoText) add(name string, value any) { fmt.Fprintf(&t.b, "%s:%v\r\n", name, value) }

// Info implements client.Facts.
func (n *Node) Info(sections []string) string {
	var t infoText
	for _, s := range infoSections {
		if wanted(s, sections) {
			t.section(s.name)
			s.write(n, &t)
		}
	}
	return t.b.String()
}

func wanted(s infoSection, sections []string) bool {
	if len(sections) == 0 {
		return !s.extra
	}
	return slices.Contains(sections, s.name) || slices.Contains(sections, "all") || slices.Contains(sections, "everything") ||
		(slices.Contains(sections, "default") && !s.extra)
}

// hexID is the node's id in the form of Redis: 40 hex digits.
func hexID(incarnation uint64) string { return fmt.Sprintf("%016x%024x", incarnation, 0) }

func infoServer(n *Node, t *infoText) {
	s := n.cfg.Current()
	up := time.Since(n.started)
	exe, _ := os.Executable()
	t.add("redis_version", RedisVersion)
	t.add("server_name", "lockstep")
	t.add("lockstep_version", Version)
	t.add("redis_git_sha1", "00000000")
	t.add("redis_git_dirty", 0)
	t.add("redis_build_id", "lockstep-"+Version)
	t.add("redis_mode", n.Mode())
	t.add("os", runtime.GOOS+" "+runtime.GOARCH)
	t.add("arch_bits", strconv.IntSize)
	t.add("monotonic_clock", "POSIX clock_gettime")
	t.add("multiplexing_api", "epoll")
	t.add("go_version", runtime.Version())
	t.add("process_id", os.Getpid())
	t.add("process_supervised", n.supervisedBy())
	t.add("run_id", hexID(n.self.Incarnation))
	t.add("tcp_port", s.Port)
	t.add("server_time_usec", time.Now().UnixMicro())
	t.add("uptime_in_seconds", int(up.Seconds()))
	t.add("uptime_in_days", int(up.Hours()/24))
	t.add("hz", 10)
	t.add("configured_hz", 10)
	t.add("lru_clock", time.Now().Unix()&lruClockMask)
	t.add("executable", exe)
	t.add("config_file", n.cfg.File())
	t.add("io_threads_active", 0)
	t.add("node_name", n.self.Name)
	t.add("node_id", string(n.self.ID()))
	t.add("cluster_id", n.self.ClusterID)
}

func infoClients(n *Node, t *infoText) {
	t.add("connected_clients", n.front.registry.Len())
	t.add("cluster_connections", len(n.machine.View().Live())-1)
	t.add("maxclients", n.cfg.Current().MaxClients)
	buffers := n.front.registry.Buffers()
	t.add("client_recent_max_input_buffer", buffers.QueryMax)
	t.add("client_recent_max_output_buffer", buffers.WaitingMax)
	t.add("blocked_clients", n.front.stats.Blocked.Load())
	t.add("tracking_clients", n.tracking.Counts().Clients)
	t.add("pubsub_clients", buffers.Listening)
	t.add("watching_clients", buffers.Watching)
	t.add("clients_in_timeout_table", n.front.stats.BlockedFor.Load())
}

// lruClockMask keeps as many bits of the time as Redis's clock has.
const lruClockMask = 1<<24 - 1

// human prints bytes as Redis does in the _human fields.
func human(bytes int64) string {
	const unit = 1024.0
	f := float64(bytes)
	for _, suffix := range []string{"B", "K", "M", "G"} {
		if f < unit {
			if suffix == "B" {
				return fmt.Sprintf("%d%s", bytes, suffix)
			}
			return fmt.Sprintf("%.2f%s", f, suffix)
		}
		f /= unit
	}
	return fmt.Sprintf("%.2fT", f)
}

// MemoryFull implements client.Facts.
func (n *Node) MemoryFull() bool { return n.memory.Full() }

func (n *Node) usedBytes() int64 {
	return n.memory.UsedBytes()
}

func infoMemory(n *Node, t *infoText) {
	f := n.MemoryFacts()
	used, rss := f.UsedBytes, f.RSSBytes
	dataset := used - f.OverheadBytes
	t.add("used_memory", used)
	t.add("used_memory_human", human(used))
	t.add("used_memory_rss", rss)
	t.add("used_memory_rss_human", human(rss))
	t.add("used_memory_peak", f.PeakBytes)
	t.add("used_memory_peak_human", human(f.PeakBytes))
	t.add("used_memory_peak_perc", percent(used, f.PeakBytes))
	t.add("used_memory_overhead", f.OverheadBytes)
	t.add("used_memory_startup", 0)
	t.add("used_memory_dataset", dataset)
	t.add("used_memory_dataset_perc", percent(dataset, used))
	infoAllocator(t, &f)
	n.infoPrograms(t, &f)
	goNumbers := runtimeNumbers(metricInUse, metricMapped, metricReturned, metricCycles)
	t.add("go_heap_alloc", goNumbers[0])
	t.add("go_heap_sys", goNumbers[1]-goNumbers[2])
	t.add("go_gc_cycles", goNumbers[3])
	t.add("total_system_memory", totalMemory())
	t.add("total_system_memory_human", human(totalMemory()))
	s := n.cfg.Current()
	t.add("maxmemory", s.Engine.MemoryBytesMax)
	t.add("maxmemory_human", human(s.Engine.MemoryBytesMax))
	t.add("maxmemory_policy", s.MaxMemoryPolicy)
	t.add("mem_fragmentation_ratio", fmt.Sprintf("%.2f", f.Fragmentation()))
	t.add("mem_allocator", "go")
	t.add("lazyfree_pending_objects", 0)
	infoBuffers(t, &f)
}

// percent prints a part of a whole as Redis does.
func percent(part, whole int64) string {
	return fmt.Sprintf("%.2f%%", 100*client.Ratio(part, whole))
}

func infoPersistence(n *Node, t *infoText) {
	t.add("loading", 0)
	t.add("async_loading", 0)
	v := n.saves.look()
	zeros(t, "current_cow_peak", "current_cow_size", "current_cow_size_age", "current_save_keys_processed", "current_save_keys_total")
	t.add("current_fork_perc", "0.00")
	t.add("rdb_changes_since_last_save", n.loggedTxns()-v.txns)
	if v.busy {
		t.add("rdb_bgsave_in_progress", 1)
	} else {
		t.add("rdb_bgsave_in_progress", 0)
	}
	t.add("rdb_last_save_time", n.LastSnapshotUnix())
	t.add("rdb_last_bgsave_status", v.status)
	t.add("rdb_last_bgsave_time_sec", v.lastTookSec)
	t.add("rdb_current_bgsave_time_sec", v.runningSec)
	t.add("rdb_saves", v.done)
	zeros(t, "rdb_last_cow_size", "rdb_last_load_keys_expired", "rdb_last_load_keys_loaded")
	t.add("aof_enabled", 1)
	zeros(t, "aof_rewrite_in_progress", "aof_rewrite_scheduled")
	t.add("aof_last_rewrite_time_sec", -1)
	t.add("aof_current_rewrite_time_sec", -1)
	t.add("aof_last_bgrewrite_status", "ok")
	zeros(t, "aof_rewrites", "aof_rewrites_consecutive_failures")
	t.add("aof_last_write_status", "ok")
	zeros(t, "aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size")
	t.add("raft_log_store", n.self.LogStore)
}

// zeros writes fields of things that are not here; tools expect them.
func zeros(t *infoText, names ...string) {
	for _, name := range names {
		t.add(name, 0)
	}
}

// keyspaceSums adds up what this node's replicas count.
type keyspaceSums struct{ hits, misses, expired, evicted int64 }

func (n *Node) keyspaceSums() (sums keyspaceSums) {
	for _, s := range n.shards() {
		st := &s.Machine().Keyspace().Stats
		sums.hits, sums.misses = sums.hits+st.Hits.Load(), sums.misses+st.Misses.Load()
		sums.expired, sums.evicted = sums.expired+st.Expired.Load(), sums.evicted+st.Evicted.Load()
	}
	return sums
}

func infoStats(n *Node, t *infoText) {
	f := n.front
	sums := n.keyspaceSums()
	t.add("total_connections_received", f.registry.Total())
	t.add("total_commands_processed", f.stats.Commands())
	t.add("instantaneous_ops_per_sec", f.rates.ops.Load())
	t.add("total_net_input_bytes", f.stats.In.Load())
	t.add("total_net_output_bytes", f.stats.Out.Load())
	zeros(t, "total_net_repl_input_bytes", "total_net_repl_output_bytes")
	t.add("instantaneous_input_kbps", fmt.Sprintf("%.2f", float64(f.rates.in.Load())/1024))
	t.add("instantaneous_output_kbps", fmt.Sprintf("%.2f", float64(f.rates.out.Load())/1024))
	t.add("instantaneous_input_repl_kbps", "0.00")
	t.add("instantaneous_output_repl_kbps", "0.00")
	t.add("rejected_connections", f.stats.RejectedConns.Load())
	zeros(t, "sync_full", "sync_partial_ok", "sync_partial_err")
	t.add("expired_keys", sums.expired)
	t.add("expired_stale_perc", "0.00")
	zeros(t, "expired_time_cap_reached_count", "expire_cycle_cpu_milliseconds")
	t.add("evicted_keys", sums.evicted)
	t.add("evicted_clients", f.stats.EvictedClients.Load())
	zeros(t, "total_eviction_exceeded_time", "current_eviction_exceeded_time")
	t.add("keyspace_hits", sums.hits)
	t.add("keyspace_misses", sums.misses)
	t.add("pubsub_channels", n.messages.hub.Names(pubsub.Channel))
	t.add("pubsub_patterns", n.messages.hub.Names(pubsub.Pattern))
	t.add("pubsubshard_channels", n.messages.hub.Names(pubsub.Shard))
	zeros(t, "latest_fork_usec", "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys",
		"active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses",
		"total_active_defrag_time", "current_active_defrag_time")
	tracked := n.tracking.Counts()
	t.add("tracking_total_keys", tracked.Keys)
	t.add("tracking_total_items", tracked.Items)
	t.add("tracking_total_prefixes", tracked.Prefixes)
	heard := n.feeds.intake.Counts()
	t.add("feeds_heard", heard.Feeds)
	t.add("feeds_live", heard.Live)
	t.add("feeds_served", n.feeds.source.Hearings())
	t.add("feed_batches", heard.Batches)
	t.add("feed_gaps", heard.Gaps)
	zeros(t, "unexpected_error_replies")
	t.add("total_error_replies", f.stats.Errors())
	zeros(t, "dump_payload_sanitizations")
	t.add("total_reads_processed", f.stats.Reads.Load())
	t.add("total_writes_processed", f.stats.Writes.Load())
	zeros(t, "io_threaded_reads_processed", "io_threaded_writes_processed", "reply_buffer_shrinks", "reply_buffer_expands")
	t.add("client_query_buffer_limit_disconnections", f.stats.QueryClosed.Load())
	t.add("client_output_buffer_limit_disconnections", f.stats.OutputClosed.Load())
	t.add("protocol_errors", f.stats.ProtocolErrors.Load())
	denied := f.stats.ACLLog.Counts()
	t.add("acl_access_denied_auth", denied.Auth)
	t.add("acl_access_denied_cmd", denied.Command)
	t.add("acl_access_denied_key", denied.Key)
	t.add("acl_access_denied_channel", denied.Channel)
	t.add("forwarded_calls", n.router.Counters.Forwarded.Load())
	t.add("retried_calls", n.router.Counters.Retried.Load())
	t.add("script_texts_left_out", n.router.Counters.TextsLeftOut.Load())
	t.add("script_texts_sent_again", n.router.Counters.TextsSentAgain.Load())
	t.add("unknown_outcomes", n.router.Counters.Unknown.Load())
	t.add("no_leader_errors", n.router.Counters.NoLeader.Load())
}

func infoReplication(n *Node, t *infoText) {
	replicas := n.Replicas()
	t.add("role", n.Role())
	if n.Role() == "slave" {
		t.add("master_host", first(replicas, 0))
		t.add("master_port", first(replicas, 1))
		t.add("master_link_status", "up")
		t.add("master_last_io_seconds_ago", 0)
		t.add("master_sync_in_progress", 0)
		t.add("slave_read_repl_offset", n.Offset())
		t.add("slave_repl_offset", n.Offset())
		t.add("slave_priority", 100)
		t.add("slave_read_only", 0)
		t.add("replica_announced", 1)
	}
	t.add("connected_slaves", len(replicas))
	for i, r := range replicas {
		t.add("slave"+strconv.Itoa(i), fmt.Sprintf("ip=%s,port=%s,state=online,offset=%s,lag=0", r[0], r[1], r[2]))
	}
	t.add("master_failover_state", "no-failover")
	t.add("master_replid", hexID(n.self.Incarnation))
	t.add("master_replid2", strings.Repeat("0", 40))
	t.add("master_repl_offset", n.Offset())
	t.add("second_repl_offset", -1)
	t.add("repl_backlog_active", 1)
	zeros(t, "repl_backlog_size", "repl_backlog_first_byte_offset", "repl_backlog_histlen")
}

func first(replicas [][3]string, i int) string {
	if len(replicas) == 0 {
		return ""
	}
	return replicas[0][i]
}

func infoCPU(_ *Node, t *infoText) {
	user, system := cpuSeconds()
	t.add("used_cpu_sys", fmt.Sprintf("%.6f", system))
	t.add("used_cpu_user", fmt.Sprintf("%.6f", user))
	t.add("used_cpu_sys_children", "0.000000")
	t.add("used_cpu_user_children", "0.000000")
}

func infoCommandStats(n *Node, t *infoText) {
	for _, c := range n.front.stats.PerCommand() {
		t.add("cmdstat_"+c.Name, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			c.Calls, c.Usec, float64(c.Usec)/float64(max(c.Calls, 1)), c.Rejected, c.Failed))
	}
}

func infoErrorStats(n *Node, t *infoText) {
	for _, e := range n.front.stats.PerError() {
		t.add("errorstat_"+e.Prefix, fmt.Sprintf("count=%d", e.Count))
	}
}

// infoLatencyStats shows the percentiles that latency-tracking-info-percentiles
// asks for.
func infoLatencyStats(n *Node, t *infoText) {
	wanted := n.cfg.Current().LatencyPercentiles
	all := n.front.stats.PerLatency()
	for i := range all {
		var parts []string
		for _, p := range wanted {
			if percent, err := strconv.ParseFloat(p, 64); err == nil {
				parts = append(parts, fmt.Sprintf("p%g=%.3f", percent, all[i].PercentileUsec(percent)))
			}
		}
		t.add("latency_percentiles_usec_"+all[i].Name, strings.Join(parts, ","))
	}
}

func infoCluster(n *Node, t *infoText) {
	enabled := 0
	if n.cfg.Current().ClusterEnabled {
		enabled = 1
	}
	t.add("cluster_enabled", enabled)
}

// infoRaft tells of this node's first replica, and then of each shard in a line.
func infoRaft(n *Node, t *infoText) {
	for at, s := range n.shards() {
		i := int(s.ID())
		g := n.groupStatus(strconv.Itoa(i), s.Group(), s)
		if at == 0 {
			t.add("raft_role", g.Role)
			t.add("raft_term", g.Term)
			t.add("raft_leader", g.Leader)
			t.add("raft_voters", g.Voters)
			t.add("raft_last_index", g.LastIndex)
			t.add("raft_committed", g.Committed)
			t.add("raft_queued", g.Queued)
			t.add("raft_executed", g.Executed)
			t.add("raft_lag", g.Lag)
		}
		txns, bytes := s.Outstanding()
		c, w := s.Machine().Counters(), s.ThrottleCounts()
		t.add("raft_shard"+strconv.Itoa(i), fmt.Sprintf("role=%s,term=%d,leader=%s,committed=%d,queued=%d,executed=%d,lag=%d,outstanding_txns=%d,outstanding_bytes=%d,entries=%d,txns=%d,duplicates=%d,panics=%d,day_offset_ms=%d,day_ahead_ms=%.1f,work_ms=%d,outstanding_work_ms=%d,waiting_for_work=%d,refused_for_work=%d,taken_back=%d",
			g.Role, g.Term, g.Leader, g.Committed, g.Queued, g.Executed, g.Lag, txns, bytes, c.Entries.Load(), c.Txns.Load(), c.Duplicates.Load(), c.Panics.Load(), g.DayOffsetMs, g.ClockAheadMs,
			workMs(c.Work.Load()), workMs(w.Work.Load()), w.Waiting.Load(), w.Expired.Load()+c.Refused.Load(), w.TakenBack.Load()))
	}
	if len(n.shards()) == 0 {
		t.add("raft_role", "none")
	}
	t.add("clock_off_ms", fmt.Sprintf("%.1f", n.clockOffMs()))
	t.add("clock_wrong", yes(n.clockWrong(n.self.ID()) != 0))
	m := n.metaGroup.Stats()
	t.add("raft_meta", fmt.Sprintf("role=%s,term=%d,committed=%d", m.Role, m.Term, m.CommitIndex))
}

func workMs(work int64) int64 { return work / (command.WorkSecond / 1000) }

func infoLocks(n *Node, t *infoText) {
	for _, s := range n.shards() {
		i := int(s.ID())
		st := s.Machine().Sched().Stats()
		t.add("locks_shard"+strconv.Itoa(i), fmt.Sprintf("lock_slots=%d,tickets=%d,waited=%d,wait_usec=%d,permits=%d,permits_in_use=%d,waiting_tickets=%d,waiting_permits=%d,inline=%d,on_workers=%d",
			s.Machine().Keyspace().LockSlots(), st.Tickets, st.Waited, st.WaitNs/1000, st.Permits, st.PermitsInUse, st.WaitingTickets, st.WaitingPermits, st.Inline, st.OnWorkers))
		if longest := s.Longest(); longest != nil {
			t.add(fmt.Sprintf("locks_shard%d_longest", i), fmt.Sprintf("what=%s,running_ms=%d", longest.What, longest.Ran.Milliseconds()))
		}
		for rank, h := range s.Machine().Sched().Hottest(hottestShown) {
			t.add(fmt.Sprintf("locks_shard%d_hot%d", i, rank), fmt.Sprintf("lock_slot=%d,waited=%d,wait_usec=%d", h.Slot, h.Waited, h.WaitNs/1000))
		}
	}
}

// hottestShown is how many of the most contended lock slots INFO shows.
const hottestShown = 8

// countsWait bounds how long INFO waits for shards of which this node has no
// replica. What does not come is left out.
const countsWait = time.Second

// keyCounts counts the keys of all shards: this node's replicas' at once, the
// others' by asking.
func (n *Node) keyCounts() (sums [engine.Databases]keycmd.KeyCounts) {
	var calls []*cluster.Call
	for i := range n.shardCount() {
		s := n.replica(i)
		if s == nil {
			op := fsm.Op{Args: [][]byte{[]byte("lockstep.keycounts")}}
			calls = append(calls, &cluster.Call{Shard: i, ReadOnly: true, Stale: true, Txn: fsm.Txn{Proto: reply.RESP2, Ops: []fsm.Op{op}}})
			continue
		}
		for db := range sums {
			sums[db].Add(keycmd.CountKeys(s.Machine().Keyspace(), db, s.Machine().DayOffsetMs()))
		}
	}
	if len(calls) == 0 {
		return sums
	}
	ctx, cancel := context.WithTimeout(n.ctx, countsWait)
	defer cancel()
	n.router.Do(ctx, calls)
	for _, call := range calls {
		if counts, ok := keycmd.ParseKeyCounts(call.Reply); ok {
			for db := range sums {
				sums[db].Add(counts[db])
			}
		}
	}
	return sums
}

func infoKeyspace(n *Node, t *infoText) {
	now := time.Now().Unix()
	for db, c := range n.keyCounts() {
		if c.Keys > 0 {
			t.add("db"+strconv.Itoa(db), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d,subexpiry=%d", c.Keys, c.Volatile, c.MeanTTLMs(now), c.Perishing))
		}
	}
}

// Mode implements client.Facts.
func (n *Node) Mode() string {
	if n.cfg.Current().ClusterEnabled {
		return "cluster"
	}
	return "standalone"
}

// Role implements client.Replication: what this node shows itself as. A node that
// forwards writes is a master to clients, or some would refuse to write to it.
func (n *Node) Role() string {
	switch n.cfg.Current().ClientRole {
	case config.RoleRaft:
		if !slices.ContainsFunc(n.shards(), func(s *shard.Shard) bool { return s.Group().IsLeader() }) {
			return "slave"
		}
	}
	return "master"
}
