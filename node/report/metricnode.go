package report

import (
	"cmp"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"lockstep/engine/sched"
	"lockstep/node/backup"
	"lockstep/node/metrics"
	"lockstep/node/process"
	"lockstep/node/survey"
)

// nodeMetrics describe the node as a whole.
var nodeMetrics = []metric{
	{metrics.Desc{Name: "lockstep_build_info", Kind: metrics.Gauge, Labels: []string{"version", "go_version"}, Help: "Always 1; the labels are the version of the program."}, "the program",
		func(_ *look, p *metrics.Page) { p.Add(1, process.Version, runtime.Version()) }},
	{metrics.Desc{Name: "lockstep_node_info", Kind: metrics.Gauge, Labels: []string{"node", "node_id", "cluster_id"}, Help: "Always 1; the labels identify this node."}, "the data folder",
		func(l *look, p *metrics.Page) { p.Add(1, l.Self.Name, string(l.Self.ID()), l.Self.ClusterID) }},
	{metrics.Desc{Name: "lockstep_uptime_seconds", Kind: metrics.Gauge, Help: "Time since the start."}, "the process", one(func(l *look) float64 { return time.Since(l.Started).Seconds() })},
	{metrics.Desc{Name: "lockstep_ready", Kind: metrics.Gauge, Help: "Whether /readyz would answer 200."}, "/readyz", one(func(l *look) int { return yes(l.IsReady() == nil) })},
	{metrics.Desc{Name: "lockstep_draining", Kind: metrics.Gauge, Help: "Whether the node is stopping."}, "the process", one(func(l *look) int { return yes(l.Draining.Load()) })},
	{metrics.Desc{Name: "lockstep_nodes", Kind: metrics.Gauge, Help: "Nodes of the cluster."}, "the meta group", one(func(l *look) int { return len(l.cluster.Live()) })},
	{metrics.Desc{Name: "lockstep_shards", Kind: metrics.Gauge, Help: "Shards of the cluster."}, "the meta group", one(func(l *look) int { return l.ShardCount() })},
	{metrics.Desc{Name: "lockstep_shards_without_leader", Kind: metrics.Gauge, Help: "Shards of the cluster for which this node knows no leader."}, "routing", one(func(l *look) int { return len(l.Leaderless()) })},
	{metrics.Desc{Name: "lockstep_replicas", Kind: metrics.Gauge, Help: "Shards of which this node has a replica."}, "the node", one(func(l *look) int { return len(l.groups()) - 1 })},
	{metrics.Desc{Name: "lockstep_cluster_version", Kind: metrics.Gauge, Help: "The cluster version: what nodes may write."}, "the meta group", one(func(l *look) int { return int(l.cluster.ClusterVersion) })},
	{metrics.Desc{Name: "lockstep_last_backup_timestamp_seconds", Kind: metrics.Gauge, Help: "When the newest backup began that clusterctl has written and read back, in Unix time; 0 if there is none."}, "the meta group", one(func(l *look) float64 { return float64(backup.LastMs(l.cluster)) / 1000 })},
	{metrics.Desc{Name: "lockstep_certificate_expires_timestamp_seconds", Kind: metrics.Gauge, Labels: []string{"use"}, Help: "When the first certificate of each use expires, in Unix time; no series if no port speaks TLS."}, "INFO tls", readCertificates},
	{metrics.Desc{Name: "lockstep_certificate_files_unusable", Kind: metrics.Gauge, Help: "Whether the present certificate files are unusable, so that the node still uses older certificates."}, "INFO tls", func(l *look, p *metrics.Page) {
		if l.TLS != nil {
			p.Add(float64(yes(l.TLS.Report().Problem != "")))
		}
	}},
}

func readCertificates(l *look, p *metrics.Page) {
	if l.TLS == nil {
		return
	}
	first := map[string]time.Time{}
	for _, c := range l.TLS.Report().Certificates {
		if at, known := first[c.Use]; !known || c.NotAfter.Before(at) {
			first[c.Use] = c.NotAfter
		}
	}
	for _, use := range slices.Sorted(maps.Keys(first)) {
		p.Add(float64(first[use].Unix()), use)
	}
}

// executionMetrics describe how shards execute entries.
var executionMetrics = []metric{
	{metrics.Desc{Name: "lockstep_apply_queue_entries", Kind: metrics.Gauge, Labels: ofGroup, Help: "Entries whose transactions have their tickets but have not all run."}, "the state machine", perShard(func(g *groupLook) uint64 {
		// Executed is read first, because it is never greater than Queued.
		executed := g.shard.Machine().Executed()
		return g.shard.Machine().Queued() - executed
	})},
	{metrics.Desc{Name: "lockstep_work_refused_total", Kind: metrics.Counter, Labels: []string{"shard", "where"}, Help: "Refused work: bundles that timed out before the log (waiting), bundles taken back (taken-back), transactions with too much work before them in the log (log)."}, "admission", func(l *look, p *metrics.Page) {
		l.eachShard(func(g *groupLook, _ ...string) {
			c := g.shard.ThrottleCounts()
			p.Add(float64(c.Expired.Load()), g.label, "waiting")
			p.Add(float64(c.TakenBack.Load()), g.label, "taken-back")
			p.Add(float64(g.shard.Machine().Counters().Refused.Load()), g.label, "log")
		})
	}},
	{metrics.Desc{Name: "lockstep_running_longest_seconds", Kind: metrics.Gauge, Labels: ofGroup, Help: "How long the longest-running command has run, of those that may take long."}, "INFO locks", perShard(func(g *groupLook) float64 {
		if longest := g.shard.Longest(); longest != nil {
			return longest.Ran.Seconds()
		}
		return 0
	})},
	{metrics.Desc{Name: "lockstep_waiting_clients", Kind: metrics.Gauge, Labels: ofGroup, Help: "Blocking commands that wait at this leader for a key."}, "the shard", perShard(func(g *groupLook) int { return g.shard.Waiting() })},
	{metrics.Desc{Name: "lockstep_shard_used_bytes", Kind: metrics.Gauge, Labels: ofGroup, Help: "Memory of the shard's keys and values, scripts and functions."}, "the engine", perShard(func(g *groupLook) int64 { return g.shard.Machine().MemoryBytes() })},
	{metrics.Desc{Name: "lockstep_day_set_total", Kind: metrics.Counter, Labels: ofGroup, Help: "How often this replica, as leader, has set the shard's time of day since the start."}, "the shard", perShard(func(g *groupLook) uint64 { return g.shard.Clock().TimesDaySet() })},
	{metrics.Desc{Name: "lockstep_lock_wait_seconds", Kind: metrics.Distribution, Help: "How long tickets waited for lock slots, over all replicas of this node. Tickets that did not wait are not counted."}, "INFO locks", readLockWaits},
	{metrics.Desc{Name: "lockstep_lock_slot_waits_total", Kind: metrics.Counter, Labels: []string{"shard", "lock_slot"}, Help: "Waits for the eight lock slots of this node with the most waits; -1 is the whole shard."}, "INFO locks", func(l *look, p *metrics.Page) {
		for _, h := range l.hottest() {
			p.Add(float64(h.heat.Waited), h.shard, strconv.Itoa(int(h.heat.Slot)))
		}
	}},
	{metrics.Desc{Name: "lockstep_tasks_total", Kind: metrics.Counter, Labels: []string{"shard", "where"}, Help: "Commands that ran at once where they were submitted (inline), or on workers (worker)."}, "INFO locks", func(l *look, p *metrics.Page) {
		l.eachShard(func(g *groupLook, _ ...string) {
			p.Add(float64(g.sched.Inline), g.label, "inline")
			p.Add(float64(g.sched.OnWorkers), g.label, "worker")
		})
	}},
}

type hotSlot struct {
	shard string
	heat  sched.SlotHeat
}

// hottest are the lock slots of this node with the most waits.
func (l *look) hottest() []hotSlot {
	var all []hotSlot
	l.eachShard(func(g *groupLook, _ ...string) {
		for _, h := range g.shard.Machine().Sched().Hottest(survey.HottestShown) {
			all = append(all, hotSlot{g.label, h})
		}
	})
	slices.SortStableFunc(all, func(a, b hotSlot) int { return cmp.Compare(b.heat.Waited, a.heat.Waited) })
	return all[:min(len(all), survey.HottestShown)]
}

// clientMetrics describe connections, calls to other nodes, and messages.
var clientMetrics = []metric{
	{metrics.Desc{Name: "lockstep_error_replies_total", Kind: metrics.Counter, Labels: []string{"code"}, Help: "Error replies by their first word, for at most 128 words."}, "INFO errorstats", func(l *look, p *metrics.Page) {
		for _, e := range l.Stats.PerError() {
			p.Add(float64(e.Count), e.Prefix)
		}
	}},
	{metrics.Desc{Name: "lockstep_gateway_renewals_total", Kind: metrics.Counter, Help: "How often this node took a new boot number for its writes to a shard. The shard knew others: another node used its name, or it runs twice."}, "calls", one(func(l *look) uint64 { return l.Router.Counters.Renewed.Load() })},
	{metrics.Desc{Name: "lockstep_peer_requests_refused_total", Kind: metrics.Counter, Help: "Writes and waits of other nodes that were refused, because they named a node that had not sent them or were malformed."}, "calls", one(func(l *look) uint64 { return l.Router.Counters.Refused.Load() })},
	{metrics.Desc{Name: "lockstep_users_unconfirmed_seconds", Kind: metrics.Gauge, Help: "Time since the meta group's leader last confirmed this node's copy of the users (acl-stale-admin-ms)."}, "the node's copy of the users", one(func(l *look) float64 { return l.Users.Unconfirmed().Seconds() })},
	{metrics.Desc{Name: "lockstep_client_buffers_bytes", Kind: metrics.Gauge, Help: "Bytes of clients' requests and replies that are not finished."}, "connections", one(func(l *look) int64 { return l.buffers().Bytes })},
	{metrics.Desc{Name: "lockstep_connection_panics_total", Kind: metrics.Counter, Labels: []string{"port"}, Help: "Connections of a port (peer, client, admin) closed because their handler panicked. Each is a bug; the log has the stack."}, "connections", func(l *look, p *metrics.Page) {
		p.Add(float64(l.Panics.Peers.Count()), "peer")
		p.Add(float64(l.Panics.Clients.Count()), "client")
		p.Add(float64(l.Panics.Admin.Count()), "admin")
	}},
	{metrics.Desc{Name: "lockstep_pubsub_dropped_messages_total", Kind: metrics.Counter, Help: "Published messages that did not reach another node."}, "messages", one(func(l *look) uint64 { return l.Messages.Dropped() })},
	{metrics.Desc{Name: "lockstep_peer_links", Kind: metrics.Gauge, Help: "Connections to and from other nodes."}, "the transport", one(func(l *look) int { return len(l.Transport.Links()) })},
	{metrics.Desc{Name: "lockstep_peer_round_trip_seconds", Kind: metrics.Gauge, Labels: []string{"peer"}, Help: "Round trip of the last ping to another node, including the queue before it. A ping is sent every three seconds."}, "the transport", readRoundTrips},
	{metrics.Desc{Name: "lockstep_peer_queued_bytes", Kind: metrics.Gauge, Help: "Bytes that wait to be sent to other nodes."}, "the transport", one(func(l *look) int {
		sum := 0
		for _, link := range l.Transport.Links() {
			sum += link.QueuedBytes
		}
		return sum
	})},
}

// processMetrics describe the process and its machine. Those without lockstep_ have the names that
// all exporters use.
var processMetrics = []metric{
	{metrics.Desc{Name: "lockstep_disk_free_bytes", Kind: metrics.Gauge, Help: "Free space on the data folder's disk."}, "the file system", func(l *look, p *metrics.Page) {
		if free, _, ok := process.Disk(l.Folder.Dir()); ok {
			p.Add(float64(free))
		}
	}},
	{metrics.Desc{Name: "lockstep_disk_size_bytes", Kind: metrics.Gauge, Help: "Size of the data folder's disk."}, "the file system", func(l *look, p *metrics.Page) {
		if _, size, ok := process.Disk(l.Folder.Dir()); ok {
			p.Add(float64(size))
		}
	}},
	{metrics.Desc{Name: "lockstep_data_size_bytes", Kind: metrics.Gauge, Labels: []string{"what"}, Help: "Disk space of the data folder's files: log, snapshots, votes (term and vote), and other."}, "the file system", readDataSizes},
	{metrics.Desc{Name: "go_goroutines", Kind: metrics.Gauge, Help: "Goroutines."}, "the Go runtime", one(func(*look) int { return runtime.NumGoroutine() })},
	{metrics.Desc{Name: "process_resident_memory_bytes", Kind: metrics.Gauge, Help: "Memory of the process, without file pages."}, "/proc", one(func(l *look) int64 { return l.mem().RSSBytes })},
	{metrics.Desc{Name: "process_cpu_seconds_total", Kind: metrics.Counter, Help: "CPU time, user and system."}, "getrusage", one(func(*look) float64 { user, system := process.CPUSeconds(); return user + system })},
	{metrics.Desc{Name: "process_open_fds", Kind: metrics.Gauge, Help: "Open files and sockets."}, "/proc", func(_ *look, p *metrics.Page) {
		if open, err := os.ReadDir("/proc/self/fd"); err == nil {
			p.Add(float64(len(open)))
		}
	}},
	{metrics.Desc{Name: "process_max_fds", Kind: metrics.Gauge, Help: "The limit of open files and sockets."}, "getrlimit", func(_ *look, p *metrics.Page) {
		var files unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
			p.Add(float64(files.Cur))
		}
	}},
	{metrics.Desc{Name: "process_start_time_seconds", Kind: metrics.Gauge, Help: "When the process started, in Unix time."}, "the process", one(func(l *look) int64 { return l.Started.Unix() })},
}
