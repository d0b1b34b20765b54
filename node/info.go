package node

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockstep/engine"
	"lockstep/node/config"
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
	{name: "errorstats", write: infoErrorStats}, {name: "latencystats", write: func(*Node, *infoText) {}, extra: true},
	{name: "modules", write: func(*Node, *infoText) {}}, {name: "cluster", write: infoCluster}, {name: "raft", write: infoRaft},
	{name: "locks", write: infoLocks, extra: true}, {name: "keyspace", write: infoKeyspace},
}

// infoText builds INFO's text: lines end with CRLF.
type infoText struct{ b strings.Builder }

func (t *infoText) section(name string) {
	if t.b.Len() > 0 {
		t.b.WriteString("\r\n")
	}
	t.b.WriteString("# " + strings.ToUpper(name[:1]) + name[1:] + "\r\n")
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
	t.add("multiplexing_api", "epoll")
	t.add("go_version", runtime.Version())
	t.add("process_id", os.Getpid())
	t.add("run_id", hexID(n.self.Incarnation))
	t.add("tcp_port", s.Port)
	t.add("server_time_usec", time.Now().UnixMicro())
	t.add("uptime_in_seconds", int(up.Seconds()))
	t.add("uptime_in_days", int(up.Hours()/24))
	t.add("hz", 10)
	t.add("configured_hz", 10)
	t.add("executable", exe)
	t.add("config_file", "")
	t.add("io_threads_active", 0)
	t.add("node_name", n.self.Name)
	t.add("node_id", string(n.self.ID()))
	t.add("cluster_id", n.self.ClusterID)
}

func infoClients(n *Node, t *infoText) {
	t.add("connected_clients", n.front.registry.Len())
	t.add("cluster_connections", len(n.machine.View().Live())-1)
	t.add("maxclients", n.cfg.Current().MaxClients)
	t.add("client_recent_max_input_buffer", 0)
	t.add("client_recent_max_output_buffer", 0)
	t.add("blocked_clients", 0)
	t.add("tracking_clients", 0)
	t.add("clients_in_timeout_table", 0)
}

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

func (n *Node) usedBytes() int64 {
	var sum int64
	for _, s := range n.shards {
		sum += s.Machine().Keyspace().MemoryBytes()
	}
	return sum
}

func infoMemory(n *Node, t *infoText) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	used, rss := n.usedBytes(), residentBytes()
	t.add("used_memory", used)
	t.add("used_memory_human", human(used))
	t.add("used_memory_rss", rss)
	t.add("used_memory_rss_human", human(rss))
	t.add("used_memory_peak", max(used, 0))
	t.add("used_memory_peak_human", human(used))
	t.add("used_memory_dataset", used)
	t.add("go_heap_alloc", m.HeapAlloc)
	t.add("go_heap_sys", m.HeapSys)
	t.add("go_gc_cycles", m.NumGC)
	t.add("total_system_memory", totalMemory())
	t.add("total_system_memory_human", human(totalMemory()))
	t.add("maxmemory", 0)
	t.add("maxmemory_human", human(0))
	t.add("maxmemory_policy", config.EvictNothing)
	t.add("mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(rss)/float64(max(used, 1))))
	t.add("mem_allocator", "go")
	t.add("lazyfree_pending_objects", 0)
}

func totalMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

func infoPersistence(n *Node, t *infoText) {
	t.add("loading", 0)
	t.add("async_loading", 0)
	t.add("rdb_changes_since_last_save", 0)
	t.add("rdb_bgsave_in_progress", 0)
	t.add("rdb_last_save_time", n.LastSnapshotUnix())
	t.add("rdb_last_bgsave_status", "ok")
	t.add("aof_enabled", 1)
	t.add("aof_rewrite_in_progress", 0)
	t.add("aof_last_write_status", "ok")
	t.add("raft_log_store", n.cfg.Current().LogStore)
}

func infoStats(n *Node, t *infoText) {
	f := n.front
	var hits, misses, expired, evicted int64
	for _, s := range n.shards {
		st := &s.Machine().Keyspace().Stats
		hits, misses = hits+st.Hits.Load(), misses+st.Misses.Load()
		expired, evicted = expired+st.Expired.Load(), evicted+st.Evicted.Load()
	}
	t.add("total_connections_received", f.registry.Total())
	t.add("total_commands_processed", f.stats.Commands())
	t.add("instantaneous_ops_per_sec", f.rates.ops.Load())
	t.add("total_net_input_bytes", f.stats.In.Load())
	t.add("total_net_output_bytes", f.stats.Out.Load())
	t.add("instantaneous_input_kbps", fmt.Sprintf("%.2f", float64(f.rates.in.Load())/1024))
	t.add("instantaneous_output_kbps", fmt.Sprintf("%.2f", float64(f.rates.out.Load())/1024))
	t.add("rejected_connections", f.stats.RejectedConns.Load())
	t.add("expired_keys", expired)
	t.add("evicted_keys", evicted)
	t.add("keyspace_hits", hits)
	t.add("keyspace_misses", misses)
	t.add("pubsub_channels", 0)
	t.add("pubsub_patterns", 0)
	t.add("latest_fork_usec", 0)
	t.add("total_error_replies", f.stats.Errors())
	t.add("forwarded_calls", n.router.Counters.Forwarded.Load())
	t.add("retried_calls", n.router.Counters.Retried.Load())
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
		t.add("slave_repl_offset", n.Offset())
		t.add("slave_read_only", 0)
	}
	t.add("connected_slaves", len(replicas))
	for i, r := range replicas {
		t.add("slave"+strconv.Itoa(i), fmt.Sprintf("ip=%s,port=%s,state=online,offset=%s,lag=0", r[0], r[1], r[2]))
	}
	t.add("master_replid", hexID(n.self.Incarnation))
	t.add("master_repl_offset", n.Offset())
	t.add("repl_backlog_active", 1)
}

func first(replicas [][3]string, i int) string {
	if len(replicas) == 0 {
		return ""
	}
	return replicas[0][i]
}

func infoCPU(_ *Node, t *infoText) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return
	}
	t.add("used_cpu_sys", fmt.Sprintf("%d.%06d", u.Stime.Sec, u.Stime.Usec))
	t.add("used_cpu_user", fmt.Sprintf("%d.%06d", u.Utime.Sec, u.Utime.Usec))
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

func infoCluster(n *Node, t *infoText) {
	enabled := 0
	if n.cfg.Current().ClusterEnabled {
		enabled = 1
	}
	t.add("cluster_enabled", enabled)
}

// infoRaft tells of shard 0 first, and then of each shard in a line.
func infoRaft(n *Node, t *infoText) {
	for i, s := range n.shards {
		g := n.groupStatus(strconv.Itoa(i), s.Group(), s)
		if i == 0 {
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
		c := s.Machine().Counters()
		t.add("raft_shard"+strconv.Itoa(i), fmt.Sprintf("role=%s,term=%d,leader=%s,committed=%d,queued=%d,executed=%d,lag=%d,outstanding_txns=%d,outstanding_bytes=%d,entries=%d,txns=%d,duplicates=%d,panics=%d",
			g.Role, g.Term, g.Leader, g.Committed, g.Queued, g.Executed, g.Lag, txns, bytes, c.Entries.Load(), c.Txns.Load(), c.Duplicates.Load(), c.Panics.Load()))
	}
	m := n.metaGroup.Stats()
	t.add("raft_meta", fmt.Sprintf("role=%s,term=%d,committed=%d", m.Role, m.Term, m.CommitIndex))
}

func infoLocks(n *Node, t *infoText) {
	for i, s := range n.shards {
		st := s.Machine().Sched().Stats()
		t.add("locks_shard"+strconv.Itoa(i), fmt.Sprintf("lock_slots=%d,tickets=%d,waited=%d,wait_usec=%d,permits=%d,permits_in_use=%d,waiting_tickets=%d,waiting_permits=%d,inline=%d,on_workers=%d",
			s.Machine().Keyspace().LockSlots(), st.Tickets, st.Waited, st.WaitNs/1000, st.Permits, st.PermitsInUse, st.WaitingTickets, st.WaitingPermits, st.Inline, st.OnWorkers))
		for rank, h := range s.Machine().Sched().Hottest(hottestShown) {
			t.add(fmt.Sprintf("locks_shard%d_hot%d", i, rank), fmt.Sprintf("lock_slot=%d,waited=%d,wait_usec=%d", h.Slot, h.Waited, h.WaitNs/1000))
		}
	}
}

// hottestShown is how many of the most contended lock slots INFO shows.
const hottestShown = 8

func infoKeyspace(n *Node, t *infoText) {
	for db := range engine.Databases {
		keys, volatile := 0, 0
		for _, s := range n.shards {
			keys += s.Machine().Keyspace().Keys(db)
			volatile += s.Machine().Keyspace().Volatile(db)
		}
		if keys > 0 {
			t.add("db"+strconv.Itoa(db), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", keys, volatile))
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

// Role implements client.Facts: what this node shows itself as. A node that
// forwards writes is a master to clients, or some would refuse to write to it.
func (n *Node) Role() string {
	switch n.cfg.Current().ClientRole {
	case config.RoleRaft:
		if !n.shards[0].Group().IsLeader() {
			return "slave"
		}
	}
	return "master"
}
