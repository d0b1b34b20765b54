// Package report reports on one node in numbers: INFO for clients, a page of metrics for Prometheus, and both
// for a bundle of support.
//
// It only reads: each number is where it is counted, in the parts of the node that Facts names, and a report
// waits for no command and, but for the key counts of INFO keyspace, for no other node. The tables of metrics
// are also what docs/monitoring.md is made from (make docs).
package report

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/caught"
	"lockstep/cluster/secure"
	"lockstep/cluster/shard"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/keycmd"
	"lockstep/engine/reply"
	"lockstep/fsm"
	"lockstep/node/clusterview"
	"lockstep/node/logs"
	"lockstep/node/member"
	"lockstep/node/ops"
	"lockstep/node/process"
	"lockstep/node/relay"
	"lockstep/node/survey"
	"lockstep/node/users"
	"lockstep/proto/admin"
	"lockstep/proto/client"
	"lockstep/proto/pubsub"
	"lockstep/proto/stats"
	"lockstep/proto/tracking"
)

// Facts are what reports read.
type Facts struct {
	*member.Member
	Survey   *survey.Survey
	View     *clusterview.View
	Stats    *stats.Stats
	Registry *client.Registry
	Tracking *tracking.Table
	Messages *relay.Messages
	Feeds    *relay.Feeds
	Users    *users.Users
	Memory   *shard.Memory
	Saves    Saves
	Clock    survey.Clock
	// TLS has the certificates, nil: no port speaks TLS.
	TLS *secure.Keeper
	// Panics are those of code that served a connection, by port.
	Panics Panics
	// IsReady says why the node is not ready, nil: it is.
	IsReady func() error
	// SupervisedBy is INFO's word for the program that supervises the process.
	SupervisedBy func() string
	// LogTail is the end of the log.
	LogTail *logs.Tail
	// Ctx ends with the node.
	Ctx context.Context
}

// Panics are those of code that served a connection, by port.
type Panics struct{ Peers, Clients, Admin *caught.Panics }

// Saves reports on SAVE and BGSAVE.
type Saves interface {
	Look() ops.Saved
	// LoggedTxns is the number of txns that this node's replicas took from their logs since it began.
	LoggedTxns() uint64
	// LastSnapshotUnix is when one last succeeded, in Unix time.
	LastSnapshotUnix() int64
}

// Report reports on a node.
type Report struct {
	Facts
	// peakBytes is the most that the data took, looked at once a second.
	peakBytes atomic.Int64
	// scrapes bounds the pages of metrics under way.
	scrapes scrapes
}

// New reports what these facts say.
func New(f Facts) *Report { return &Report{Facts: f, scrapes: newScrapes()} }

// infoSection is one section of INFO.
type infoSection struct {
	name  string
	write func(*Report, *infoText)
	// extra sections are shown only when asked for, or with "all".
	extra bool
}

// infoSections are all sections in the order of INFO.
var infoSections = []infoSection{
	{name: "server", write: infoServer}, {name: "clients", write: infoClients}, {name: "memory", write: infoMemory},
	{name: "persistence", write: infoPersistence}, {name: "stats", write: infoStats}, {name: "replication", write: infoReplication},
	{name: "cpu", write: infoCPU}, {name: "commandstats", write: infoCommandStats, extra: true},
	{name: "errorstats", write: infoErrorStats}, {name: "latencystats", write: infoLatencyStats, extra: true},
	{name: "modules", write: func(*Report, *infoText) {}}, {name: "cluster", write: infoCluster}, {name: "tls", write: infoTLS}, {name: "raft", write: infoRaft},
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

// Info implements admin.Facts.
func (r *Report) Info(sections []string) string {
	var t infoText
	for _, s := range infoSections {
		if wanted(s, sections) {
			t.section(s.name)
			s.write(r, &t)
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

func infoServer(r *Report, t *infoText) {
	s := r.Config.Current()
	up := time.Since(r.Started)
	exe, _ := os.Executable()
	t.add("redis_version", process.RedisVersion)
	t.add("server_name", "lockstep")
	t.add("lockstep_version", process.Version)
	t.add("redis_git_sha1", "00000000")
	t.add("redis_git_dirty", 0)
	t.add("redis_build_id", "lockstep-"+process.Version)
	t.add("redis_mode", r.Mode())
	t.add("os", runtime.GOOS+" "+runtime.GOARCH)
	t.add("arch_bits", strconv.IntSize)
	t.add("monotonic_clock", "POSIX clock_gettime")
	t.add("multiplexing_api", "epoll")
	t.add("go_version", runtime.Version())
	t.add("process_id", os.Getpid())
	t.add("process_supervised", r.SupervisedBy())
	t.add("run_id", clusterview.HexID(r.Self.Incarnation))
	t.add("tcp_port", s.Port)
	t.add("server_time_usec", time.Now().UnixMicro())
	t.add("uptime_in_seconds", int(up.Seconds()))
	t.add("uptime_in_days", int(up.Hours()/24))
	t.add("hz", 10)
	t.add("configured_hz", 10)
	t.add("lru_clock", time.Now().Unix()&lruClockMask)
	t.add("executable", exe)
	t.add("config_file", r.Config.File())
	t.add("io_threads_active", 0)
	t.add("node_name", r.Self.Name)
	t.add("node_id", string(r.Self.ID()))
	t.add("cluster_id", r.Self.ClusterID)
}

func infoClients(r *Report, t *infoText) {
	t.add("connected_clients", r.Registry.Len())
	t.add("cluster_connections", len(r.Machine.View().Live())-1)
	t.add("maxclients", r.Config.Current().MaxClients)
	buffers := r.Registry.Buffers()
	t.add("client_recent_max_input_buffer", buffers.QueryMax)
	t.add("client_recent_max_output_buffer", buffers.WaitingMax)
	t.add("blocked_clients", r.Stats.Blocked.Load())
	t.add("tracking_clients", r.Tracking.Counts().Clients)
	t.add("pubsub_clients", buffers.Listening)
	t.add("watching_clients", buffers.Watching)
	t.add("clients_in_timeout_table", r.Stats.BlockedFor.Load())
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

// MemoryFull implements admin.Facts.
func (r *Report) MemoryFull() bool { return r.Memory.Full() }

func (r *Report) usedBytes() int64 {
	return r.Memory.UsedBytes()
}

func infoMemory(r *Report, t *infoText) {
	f := r.MemoryFacts()
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
	r.infoPrograms(t, &f)
	goNumbers := process.Numbers(process.InUse, process.Mapped, process.Returned, process.Cycles)
	t.add("go_heap_alloc", goNumbers[0])
	t.add("go_heap_sys", goNumbers[1]-goNumbers[2])
	t.add("go_gc_cycles", goNumbers[3])
	t.add("total_system_memory", process.TotalMemory())
	t.add("total_system_memory_human", human(process.TotalMemory()))
	s := r.Config.Current()
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
	return fmt.Sprintf("%.2f%%", 100*admin.Ratio(part, whole))
}

func infoPersistence(r *Report, t *infoText) {
	t.add("loading", 0)
	t.add("async_loading", 0)
	v := r.Saves.Look()
	zeros(t, "current_cow_peak", "current_cow_size", "current_cow_size_age", "current_save_keys_processed", "current_save_keys_total")
	t.add("current_fork_perc", "0.00")
	t.add("rdb_changes_since_last_save", r.Saves.LoggedTxns()-v.Txns)
	if v.Busy {
		t.add("rdb_bgsave_in_progress", 1)
	} else {
		t.add("rdb_bgsave_in_progress", 0)
	}
	t.add("rdb_last_save_time", r.Saves.LastSnapshotUnix())
	t.add("rdb_last_bgsave_status", v.Status)
	t.add("rdb_last_bgsave_time_sec", v.LastTookSec)
	t.add("rdb_current_bgsave_time_sec", v.RunningSec)
	t.add("rdb_saves", v.Done)
	zeros(t, "rdb_last_cow_size", "rdb_last_load_keys_expired", "rdb_last_load_keys_loaded")
	t.add("aof_enabled", 1)
	zeros(t, "aof_rewrite_in_progress", "aof_rewrite_scheduled")
	t.add("aof_last_rewrite_time_sec", -1)
	t.add("aof_current_rewrite_time_sec", -1)
	t.add("aof_last_bgrewrite_status", "ok")
	zeros(t, "aof_rewrites", "aof_rewrites_consecutive_failures")
	t.add("aof_last_write_status", "ok")
	zeros(t, "aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size")
	t.add("raft_log_store", r.Self.LogStore)
}

// zeros writes fields of things that are not here; tools expect them.
func zeros(t *infoText, names ...string) {
	for _, name := range names {
		t.add(name, 0)
	}
}

// keyspaceSums adds up what this node's replicas count.
type keyspaceSums struct{ hits, misses, expired, evicted int64 }

func (r *Report) keyspaceSums() (sums keyspaceSums) {
	for _, s := range r.Shards() {
		st := &s.Machine().Keyspace().Stats
		sums.hits, sums.misses = sums.hits+st.Hits.Load(), sums.misses+st.Misses.Load()
		sums.expired, sums.evicted = sums.expired+st.Expired.Load(), sums.evicted+st.Evicted.Load()
	}
	return sums
}

func infoStats(r *Report, t *infoText) {
	sums := r.keyspaceSums()
	t.add("total_connections_received", r.Registry.Total())
	t.add("total_commands_processed", r.Stats.Commands())
	t.add("instantaneous_ops_per_sec", r.Survey.Rates.Ops())
	t.add("total_net_input_bytes", r.Stats.In.Load())
	t.add("total_net_output_bytes", r.Stats.Out.Load())
	zeros(t, "total_net_repl_input_bytes", "total_net_repl_output_bytes")
	t.add("instantaneous_input_kbps", fmt.Sprintf("%.2f", float64(r.Survey.Rates.In())/1024))
	t.add("instantaneous_output_kbps", fmt.Sprintf("%.2f", float64(r.Survey.Rates.Out())/1024))
	t.add("instantaneous_input_repl_kbps", "0.00")
	t.add("instantaneous_output_repl_kbps", "0.00")
	t.add("rejected_connections", r.Stats.RejectedConns.Load())
	zeros(t, "sync_full", "sync_partial_ok", "sync_partial_err")
	t.add("expired_keys", sums.expired)
	t.add("expired_stale_perc", "0.00")
	zeros(t, "expired_time_cap_reached_count", "expire_cycle_cpu_milliseconds")
	t.add("evicted_keys", sums.evicted)
	t.add("evicted_clients", r.Stats.EvictedClients.Load())
	zeros(t, "total_eviction_exceeded_time", "current_eviction_exceeded_time")
	t.add("keyspace_hits", sums.hits)
	t.add("keyspace_misses", sums.misses)
	t.add("pubsub_channels", r.Messages.Hub().Names(pubsub.Channel))
	t.add("pubsub_patterns", r.Messages.Hub().Names(pubsub.Pattern))
	t.add("pubsubshard_channels", r.Messages.Hub().Names(pubsub.Shard))
	zeros(t, "latest_fork_usec", "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys",
		"active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses",
		"total_active_defrag_time", "current_active_defrag_time")
	tracked := r.Tracking.Counts()
	t.add("tracking_total_keys", tracked.Keys)
	t.add("tracking_total_items", tracked.Items)
	t.add("tracking_total_prefixes", tracked.Prefixes)
	heard := r.Feeds.Intake.Counts()
	t.add("feeds_heard", heard.Feeds)
	t.add("feeds_live", heard.Live)
	t.add("feeds_served", r.Feeds.Source.Hearings())
	t.add("feed_batches", heard.Batches)
	t.add("feed_gaps", heard.Gaps)
	zeros(t, "unexpected_error_replies")
	t.add("total_error_replies", r.Stats.Errors())
	zeros(t, "dump_payload_sanitizations")
	t.add("total_reads_processed", r.Stats.Reads.Load())
	t.add("total_writes_processed", r.Stats.Writes.Load())
	zeros(t, "io_threaded_reads_processed", "io_threaded_writes_processed", "reply_buffer_shrinks", "reply_buffer_expands")
	t.add("client_query_buffer_limit_disconnections", r.Stats.QueryClosed.Load())
	t.add("client_output_buffer_limit_disconnections", r.Stats.OutputClosed.Load())
	t.add("protocol_errors", r.Stats.ProtocolErrors.Load())
	denied := r.Stats.ACLLog.Counts()
	t.add("acl_access_denied_auth", denied.Auth)
	t.add("acl_access_denied_cmd", denied.Command)
	t.add("acl_access_denied_key", denied.Key)
	t.add("acl_access_denied_channel", denied.Channel)
	t.add("forwarded_calls", r.Router.Counters.Forwarded.Load())
	t.add("relayed_calls", r.Router.Counters.Relayed.Load())
	t.add("passed_on_calls", r.Router.Counters.PassedOn.Load())
	t.add("retried_calls", r.Router.Counters.Retried.Load())
	t.add("script_texts_left_out", r.Router.Counters.TextsLeftOut.Load())
	t.add("script_texts_sent_again", r.Router.Counters.TextsSentAgain.Load())
	t.add("unknown_outcomes", r.Router.Counters.Unknown.Load())
	t.add("no_leader_errors", r.Router.Counters.NoLeader.Load())
}

func infoReplication(r *Report, t *infoText) {
	replicas := r.View.Replicas()
	t.add("role", r.View.Role())
	if r.View.Role() == "slave" {
		t.add("master_host", first(replicas, 0))
		t.add("master_port", first(replicas, 1))
		t.add("master_link_status", "up")
		t.add("master_last_io_seconds_ago", 0)
		t.add("master_sync_in_progress", 0)
		t.add("slave_read_repl_offset", r.View.Offset())
		t.add("slave_repl_offset", r.View.Offset())
		t.add("slave_priority", 100)
		t.add("slave_read_only", 0)
		t.add("replica_announced", 1)
	}
	t.add("connected_slaves", len(replicas))
	for i, r := range replicas {
		t.add("slave"+strconv.Itoa(i), fmt.Sprintf("ip=%s,port=%s,state=online,offset=%s,lag=0", r[0], r[1], r[2]))
	}
	t.add("master_failover_state", "no-failover")
	t.add("master_replid", clusterview.HexID(r.Self.Incarnation))
	t.add("master_replid2", strings.Repeat("0", 40))
	t.add("master_repl_offset", r.View.Offset())
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

func infoCPU(_ *Report, t *infoText) {
	user, system := process.CPUSeconds()
	t.add("used_cpu_sys", fmt.Sprintf("%.6f", system))
	t.add("used_cpu_user", fmt.Sprintf("%.6f", user))
	t.add("used_cpu_sys_children", "0.000000")
	t.add("used_cpu_user_children", "0.000000")
}

func infoCommandStats(r *Report, t *infoText) {
	for _, c := range r.Stats.PerCommand() {
		t.add("cmdstat_"+c.Name, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			c.Calls, c.Usec, float64(c.Usec)/float64(max(c.Calls, 1)), c.Rejected, c.Failed))
	}
}

func infoErrorStats(r *Report, t *infoText) {
	for _, e := range r.Stats.PerError() {
		t.add("errorstat_"+e.Prefix, fmt.Sprintf("count=%d", e.Count))
	}
}

// infoLatencyStats shows the percentiles that latency-tracking-info-percentiles
// asks for.
func infoLatencyStats(r *Report, t *infoText) {
	wanted := r.Config.Current().LatencyPercentiles
	all := r.Stats.PerLatency()
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

func infoCluster(r *Report, t *infoText) {
	enabled := 0
	if r.Config.Current().ClusterEnabled {
		enabled = 1
	}
	t.add("cluster_enabled", enabled)
}

// infoRaft reports on this node's first replica, and then of each shard in a line.
func infoRaft(r *Report, t *infoText) {
	for at, s := range r.Shards() {
		i := int(s.ID())
		g := r.Survey.GroupStatus(strconv.Itoa(i), s.Group(), s)
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
	if len(r.Shards()) == 0 {
		t.add("raft_role", "none")
	}
	t.add("clock_off_ms", fmt.Sprintf("%.1f", r.Clock.OffMs()))
	t.add("clock_wrong", yes(r.Clock.Wrong(r.Self.ID()) != 0))
	m := r.MetaGroup.Stats()
	t.add("raft_meta", fmt.Sprintf("role=%s,term=%d,committed=%d", m.Role, m.Term, m.CommitIndex))
}

func workMs(work int64) int64 { return work / (command.WorkSecond / 1000) }

func infoLocks(r *Report, t *infoText) {
	for _, s := range r.Shards() {
		i := int(s.ID())
		st := s.Machine().Sched().Stats()
		t.add("locks_shard"+strconv.Itoa(i), fmt.Sprintf("lock_slots=%d,tickets=%d,waited=%d,wait_usec=%d,permits=%d,permits_in_use=%d,waiting_tickets=%d,waiting_permits=%d,inline=%d,on_workers=%d",
			s.Machine().Keyspace().LockSlots(), st.Tickets, st.Waited, st.WaitNs/1000, st.Permits, st.PermitsInUse, st.WaitingTickets, st.WaitingPermits, st.Inline, st.OnWorkers))
		if longest := s.Longest(); longest != nil {
			t.add(fmt.Sprintf("locks_shard%d_longest", i), fmt.Sprintf("what=%s,running_ms=%d", longest.What, longest.Ran.Milliseconds()))
		}
		for rank, h := range s.Machine().Sched().Hottest(survey.HottestShown) {
			t.add(fmt.Sprintf("locks_shard%d_hot%d", i, rank), fmt.Sprintf("lock_slot=%d,waited=%d,wait_usec=%d", h.Slot, h.Waited, h.WaitNs/1000))
		}
	}
}

// countsWait bounds how long INFO waits for shards of which this node has no
// replica. What does not come is left out.
const countsWait = time.Second

// keyCounts counts the keys of all shards: this node's replicas' at once, the
// others' by asking.
func (r *Report) keyCounts() (sums [engine.Databases]keycmd.KeyCounts) {
	var calls []*cluster.Call
	for i := range r.ShardCount() {
		s := r.Replica(i)
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
	ctx, cancel := context.WithTimeout(r.Ctx, countsWait)
	defer cancel()
	r.Router.Do(ctx, calls)
	for _, call := range calls {
		if counts, ok := keycmd.ParseKeyCounts(call.Reply); ok {
			for db := range sums {
				sums[db].Add(counts[db])
			}
		}
	}
	return sums
}

func infoKeyspace(r *Report, t *infoText) {
	now := time.Now().Unix()
	for db, c := range r.keyCounts() {
		if c.Keys > 0 {
			t.add("db"+strconv.Itoa(db), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d,subexpiry=%d", c.Keys, c.Volatile, c.MeanTTLMs(now), c.Perishing))
		}
	}
}

// Mode implements admin.Facts.
func (r *Report) Mode() string {
	if r.Config.Current().ClusterEnabled {
		return "cluster"
	}
	return "standalone"
}

// infoTLS reports on the ports that speak TLS, and of when certificates expire.
func infoTLS(r *Report, t *infoText) {
	s := r.Config.Current()
	yesNo := map[bool]string{true: "yes", false: "no"}
	t.add("tls_port", s.TLSPort)
	t.add("tls_cluster", yesNo[s.SecuresPeers()])
	t.add("tls_admin", s.TLSAdmin)
	if r.TLS == nil {
		return
	}
	found := r.TLS.Report()
	for _, c := range found.Certificates {
		name := map[string]string{secure.UseNode: "tls_cert", secure.UseClient: "tls_client_cert"}[c.Use]
		if name == "" {
			continue
		}
		t.add(name+"_subject", c.Subject)
		t.add(name+"_expires_unix", c.NotAfter.Unix())
		t.add(name+"_expires_in_seconds", int64(time.Until(c.NotAfter).Seconds()))
	}
	if first, ok := found.FirstAuthority(); ok {
		t.add("tls_ca_expires_unix", first.Unix())
		t.add("tls_ca_expires_in_seconds", int64(time.Until(first).Seconds()))
	}
	t.add("tls_reloads", found.Reloads)
	t.add("tls_reload_problem", found.Problem)
}
