package node

import (
	"cmp"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lockstep/cluster/meta"
	"lockstep/engine/command"
	"lockstep/engine/sched"
	"lockstep/node/metrics"
	"lockstep/proto/pubsub"
)

// nameOf is the name of the node with an id, the id where none is known.
func (n *Node) nameOf(id string) string {
	if node, ok := n.machine.View().Node(meta.NodeID(id)); ok {
		return node.Name
	}
	return id
}

// nodeMetrics tell of the node as a whole.
var nodeMetrics = []metric{
	{metrics.Desc{Name: "lockstep_build_info", Kind: metrics.Gauge, Labels: []string{"version", "go_version"}, Help: "Always 1; the labels are the version of the program."}, "the program",
		func(_ *look, p *metrics.Page) { p.Add(1, Version, runtime.Version()) }},
	{metrics.Desc{Name: "lockstep_node_info", Kind: metrics.Gauge, Labels: []string{"node", "node_id", "cluster_id"}, Help: "Always 1; the labels are who this node is."}, "the data folder",
		func(l *look, p *metrics.Page) { p.Add(1, l.n.self.Name, string(l.n.self.ID()), l.n.self.ClusterID) }},
	{metrics.Desc{Name: "lockstep_uptime_seconds", Kind: metrics.Gauge, Help: "Time since the start."}, "the process", one(func(l *look) float64 { return time.Since(l.n.started).Seconds() })},
	{metrics.Desc{Name: "lockstep_ready", Kind: metrics.Gauge, Help: "Whether /readyz would say yes."}, "/readyz", one(func(l *look) int { return yes(l.n.verdict(readyProbe) == nil) })},
	{metrics.Desc{Name: "lockstep_draining", Kind: metrics.Gauge, Help: "Whether the node is stopping."}, "the process", one(func(l *look) int { return yes(l.n.draining.Load()) })},
	{metrics.Desc{Name: "lockstep_nodes", Kind: metrics.Gauge, Help: "Nodes of the cluster."}, "the meta group", one(func(l *look) int { return len(l.view.Live()) })},
	{metrics.Desc{Name: "lockstep_shards", Kind: metrics.Gauge, Help: "Shards of the cluster."}, "the meta group", one(func(l *look) int { return l.n.shardCount() })},
	{metrics.Desc{Name: "lockstep_shards_without_leader", Kind: metrics.Gauge, Help: "Shards of the cluster of which this node knows no leader."}, "routing", one(func(l *look) int { return len(l.n.leaderless()) })},
	{metrics.Desc{Name: "lockstep_replicas", Kind: metrics.Gauge, Help: "Shards of which this node has a replica."}, "the node", one(func(l *look) int { return len(l.groups) - 1 })},
	{metrics.Desc{Name: "lockstep_cluster_version", Kind: metrics.Gauge, Help: "Version of what the cluster writes."}, "the meta group", one(func(l *look) int { return int(l.view.ClusterVersion) })},
	{metrics.Desc{Name: "lockstep_last_backup_timestamp_seconds", Kind: metrics.Gauge, Help: "When the newest backup of the cluster began that clusterctl has written and read back, in Unix time; 0: there is none."}, "the meta group", one(func(l *look) float64 { return float64(lastBackupMs(l.view)) / 1000 })},
	{metrics.Desc{Name: "lockstep_clock_off_seconds", Kind: metrics.Gauge, Help: "How far this node's clock is ahead of what a majority of the nodes say, negative: behind; 0: it is not, or no majority says anything."}, "the other nodes", one(func(l *look) float64 { return l.n.clockOffMs() / 1000 })},
	{metrics.Desc{Name: "lockstep_clock_wrong", Kind: metrics.Gauge, Help: "Whether that is more than clock-offset-max-ms: the node leads no shard while another one can."}, "the other nodes", one(func(l *look) int { return yes(l.n.clockWrong(l.n.self.ID()) != 0) })},
	{metrics.Desc{Name: "lockstep_certificate_expires_timestamp_seconds", Kind: metrics.Gauge, Labels: []string{"use"}, Help: "When the first certificate of each use expires, in Unix time; none where no port speaks TLS."}, "INFO tls", readCertificates},
	{metrics.Desc{Name: "lockstep_certificate_files_unusable", Kind: metrics.Gauge, Help: "Whether the certificate files as they are now could not be used, so that older ones are in force."}, "INFO tls", func(l *look, p *metrics.Page) {
		if l.n.tls != nil {
			p.Add(float64(yes(l.n.tls.Report().Problem != "")))
		}
	}},
}

func readCertificates(l *look, p *metrics.Page) {
	if l.n.tls == nil {
		return
	}
	first := map[string]time.Time{}
	for _, c := range l.n.tls.Report().Certificates {
		if at, known := first[c.Use]; !known || c.NotAfter.Before(at) {
			first[c.Use] = c.NotAfter
		}
	}
	for _, use := range slices.Sorted(maps.Keys(first)) {
		p.Add(float64(first[use].Unix()), use)
	}
}

// executionMetrics tell what shards do with entries.
var executionMetrics = []metric{
	{metrics.Desc{Name: "lockstep_apply_queue_entries", Kind: metrics.Gauge, Labels: ofGroup, Help: "Entries whose transactions have their tickets and have not all run."}, "the state machine", perShard(func(g *groupLook) uint64 {
		// Executed first: it never passes the other.
		executed := g.shard.Machine().Executed()
		return g.shard.Machine().Queued() - executed
	})},
	{metrics.Desc{Name: "lockstep_entries_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Entries taken over from the log since the start."}, "the state machine", perShard(func(g *groupLook) uint64 { return g.shard.Machine().Counters().Entries.Load() })},
	{metrics.Desc{Name: "lockstep_txns_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Transactions in them."}, "the state machine", perShard(func(g *groupLook) uint64 { return g.shard.Machine().Counters().Txns.Load() })},
	{metrics.Desc{Name: "lockstep_duplicate_txns_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Transactions that had run before and were answered from memory."}, "the state machine", perShard(func(g *groupLook) uint64 { return g.shard.Machine().Counters().Duplicates.Load() })},
	{metrics.Desc{Name: "lockstep_panics_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Commands that panicked and were answered with an error. Each is a bug."}, "the state machine", perShard(func(g *groupLook) uint64 { return g.shard.Machine().Counters().Panics.Load() })},
	{metrics.Desc{Name: "lockstep_outstanding_txns", Kind: metrics.Gauge, Labels: ofGroup, Help: "Transactions this replica has taken on and not answered."}, "admission", perShard(func(g *groupLook) int64 { txns, _ := g.shard.Outstanding(); return txns })},
	{metrics.Desc{Name: "lockstep_outstanding_bytes", Kind: metrics.Gauge, Labels: ofGroup, Help: "The same in bytes."}, "admission", perShard(func(g *groupLook) int64 { _, bytes := g.shard.Outstanding(); return bytes })},
	{metrics.Desc{Name: "lockstep_work_seconds_total", Kind: metrics.Counter, Labels: ofGroup, Help: "What the transactions of the log have taken of one core since the start, as replicas count it."}, "the state machine", perShard(func(g *groupLook) float64 { return workSeconds(g.shard.Machine().Counters().Work.Load()) })},
	{metrics.Desc{Name: "lockstep_outstanding_work_seconds", Kind: metrics.Gauge, Labels: ofGroup, Help: "What those may take that this leader has let into the log and that have not run, of those that may take long, by its guess."}, "admission", perShard(func(g *groupLook) float64 { return workSeconds(g.shard.ThrottleCounts().Work.Load()) })},
	{metrics.Desc{Name: "lockstep_work_waiting_txns", Kind: metrics.Gauge, Labels: ofGroup, Help: "Transactions that wait at this leader, before the log, for others to run that take long."}, "admission", perShard(func(g *groupLook) int64 { return g.shard.ThrottleCounts().Waiting.Load() })},
	{metrics.Desc{Name: "lockstep_work_refused_total", Kind: metrics.Counter, Labels: []string{"shard", "where"}, Help: "Bundles whose time was over while they waited before the log (waiting), those that were taken back (taken-back), and transactions before which too much work stood in the log (log)."}, "admission", func(l *look, p *metrics.Page) {
		for i := range l.groups {
			if g := &l.groups[i]; g.shard != nil {
				c := g.shard.ThrottleCounts()
				p.Add(float64(c.Expired.Load()), g.label, "waiting")
				p.Add(float64(c.TakenBack.Load()), g.label, "taken-back")
				p.Add(float64(g.shard.Machine().Counters().Refused.Load()), g.label, "log")
			}
		}
	}},
	{metrics.Desc{Name: "lockstep_running_longest_seconds", Kind: metrics.Gauge, Labels: ofGroup, Help: "For how long the command has run that has run for longest, of those that may take long."}, "INFO locks", perShard(func(g *groupLook) float64 {
		if longest := g.shard.Longest(); longest != nil {
			return longest.Ran.Seconds()
		}
		return 0
	})},
	{metrics.Desc{Name: "lockstep_waiting_clients", Kind: metrics.Gauge, Labels: ofGroup, Help: "Blocking commands that wait at this leader for a key."}, "the shard", perShard(func(g *groupLook) int { return g.shard.Waiting() })},
	{metrics.Desc{Name: "lockstep_shard_used_bytes", Kind: metrics.Gauge, Labels: ofGroup, Help: "Memory of the shard's keys and values, scripts and functions."}, "the engine", perShard(func(g *groupLook) int64 { return g.shard.Machine().MemoryBytes() })},
	{metrics.Desc{Name: "lockstep_day_ahead_seconds", Kind: metrics.Gauge, Labels: ofGroup, Help: "On the leader: how far the shard's time of day is ahead of what a majority of its voters say; negative: behind."}, "the voters' clocks", perShard(func(g *groupLook) float64 { return g.status.ClockAheadMs / 1000 })},
	{metrics.Desc{Name: "lockstep_day_set_total", Kind: metrics.Counter, Labels: ofGroup, Help: "How often this replica has set the shard's time of day since the start, where it led."}, "the shard", perShard(func(g *groupLook) uint64 { return g.shard.TimesDaySet() })},
	{metrics.Desc{Name: "lockstep_lock_tickets_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Tickets taken: commands that locked slots."}, "INFO locks", perShard(func(g *groupLook) uint64 { return g.sched.Tickets })},
	{metrics.Desc{Name: "lockstep_lock_waits_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Tickets that had to wait for a lock slot."}, "INFO locks", perShard(func(g *groupLook) uint64 { return g.sched.Waited })},
	{metrics.Desc{Name: "lockstep_lock_wait_seconds_total", Kind: metrics.Counter, Labels: ofGroup, Help: "How long they waited, all together."}, "INFO locks", perShard(func(g *groupLook) float64 { return time.Duration(g.sched.WaitNs).Seconds() })},
	{metrics.Desc{Name: "lockstep_lock_wait_seconds", Kind: metrics.Distribution, Help: "How long tickets waited that had to, over all replicas of this node."}, "INFO locks", readLockWaits},
	{metrics.Desc{Name: "lockstep_lock_waiting_tickets", Kind: metrics.Gauge, Labels: ofGroup, Help: "Tickets that wait for a lock slot now."}, "INFO locks", perShard(func(g *groupLook) int { return g.sched.WaitingTickets })},
	{metrics.Desc{Name: "lockstep_lock_slot_waits_total", Kind: metrics.Counter, Labels: []string{"shard", "lock_slot"}, Help: "Waits for the eight lock slots of this node that were waited for most; -1 is the whole shard."}, "INFO locks", func(l *look, p *metrics.Page) {
		for _, h := range l.hottest() {
			p.Add(float64(h.heat.Waited), h.shard, strconv.Itoa(int(h.heat.Slot)))
		}
	}},
	{metrics.Desc{Name: "lockstep_permits", Kind: metrics.Gauge, Labels: ofGroup, Help: "Commands that may run at once."}, "INFO locks", perShard(func(g *groupLook) int { return g.sched.Permits })},
	{metrics.Desc{Name: "lockstep_permits_in_use", Kind: metrics.Gauge, Labels: ofGroup, Help: "Commands that run now."}, "INFO locks", perShard(func(g *groupLook) int { return g.sched.PermitsInUse })},
	{metrics.Desc{Name: "lockstep_permits_waiting", Kind: metrics.Gauge, Labels: ofGroup, Help: "Commands that have their locks and wait for a permit."}, "INFO locks", perShard(func(g *groupLook) int { return g.sched.WaitingPermits })},
	{metrics.Desc{Name: "lockstep_tasks_total", Kind: metrics.Counter, Labels: []string{"shard", "where"}, Help: "Commands run at once where they were taken over (inline), or by workers."}, "INFO locks", func(l *look, p *metrics.Page) {
		for i := range l.groups {
			if g := &l.groups[i]; g.shard != nil {
				p.Add(float64(g.sched.Inline), g.label, "inline")
				p.Add(float64(g.sched.OnWorkers), g.label, "worker")
			}
		}
	}},
}

func workSeconds(work int64) float64 { return float64(work) / command.WorkSecond }

type hotSlot struct {
	shard string
	heat  sched.SlotHeat
}

// hottest are the lock slots of this node that were waited for most.
func (l *look) hottest() []hotSlot {
	var all []hotSlot
	for i := range l.groups {
		if g := &l.groups[i]; g.shard != nil {
			for _, h := range g.shard.Machine().Sched().Hottest(hottestShown) {
				all = append(all, hotSlot{g.label, h})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b hotSlot) int { return cmp.Compare(b.heat.Waited, a.heat.Waited) })
	return all[:min(len(all), hottestShown)]
}

// clientMetrics tell of connections, of calls to other nodes, and of messages.
var clientMetrics = []metric{
	{metrics.Desc{Name: "lockstep_error_replies_total", Kind: metrics.Counter, Labels: []string{"code"}, Help: "Error replies by their first word; 128 of those at most."}, "INFO errorstats", func(l *look, p *metrics.Page) {
		for _, e := range l.n.front.stats.PerError() {
			p.Add(float64(e.Count), e.Prefix)
		}
	}},
	{metrics.Desc{Name: "lockstep_forwarded_calls_total", Kind: metrics.Counter, Help: "Calls sent to the node that leads the shard."}, "INFO stats", one(func(l *look) uint64 { return l.n.router.Counters.Forwarded.Load() })},
	{metrics.Desc{Name: "lockstep_relayed_calls_total", Kind: metrics.Counter, Help: "Calls sent to the leader through another node, because the way to the leader was shut."}, "INFO stats", one(func(l *look) uint64 { return l.n.router.Counters.Relayed.Load() })},
	{metrics.Desc{Name: "lockstep_passed_on_calls_total", Kind: metrics.Counter, Help: "Calls of other nodes that this node passed on to a leader, because those did not reach it."}, "INFO stats", one(func(l *look) uint64 { return l.n.router.Counters.PassedOn.Load() })},
	{metrics.Desc{Name: "lockstep_retried_calls_total", Kind: metrics.Counter, Help: "Calls that were asked again, of another leader or after a pause."}, "INFO stats", one(func(l *look) uint64 { return l.n.router.Counters.Retried.Load() })},
	{metrics.Desc{Name: "lockstep_script_texts_left_out_total", Kind: metrics.Counter, Help: "Calls of EVAL that entered the log without their text: the shard had the script."}, "INFO stats", one(func(l *look) uint64 { return l.n.router.Counters.TextsLeftOut.Load() })},
	{metrics.Desc{Name: "lockstep_script_texts_sent_again_total", Kind: metrics.Counter, Help: "Calls sent anew with all texts, for a script had gone meanwhile (SCRIPT FLUSH, a full script cache): they had not run."}, "INFO stats", one(func(l *look) uint64 { return l.n.router.Counters.TextsSentAgain.Load() })},
	{metrics.Desc{Name: "lockstep_unknown_outcomes_total", Kind: metrics.Counter, Help: "Calls answered with INDETERMINATE: they may or may not have run."}, "INFO stats", one(func(l *look) uint64 { return l.n.router.Counters.Unknown.Load() })},
	{metrics.Desc{Name: "lockstep_gateway_renewals_total", Kind: metrics.Counter, Help: "Times that this node gave its writes to a shard a new boot number, because the shard knew others of it: somebody spoke in its name, or it runs twice."}, "calls", one(func(l *look) uint64 { return l.n.router.Counters.Renewed.Load() })},
	{metrics.Desc{Name: "lockstep_peer_requests_refused_total", Kind: metrics.Counter, Help: "Writes and waits of other nodes that were refused because they named another node than the one that sent them, or made no sense."}, "calls", one(func(l *look) uint64 { return l.n.router.Counters.Refused.Load() })},
	{metrics.Desc{Name: "lockstep_no_leader_errors_total", Kind: metrics.Counter, Help: "Calls answered with CLUSTERDOWN, for no leader was found in time: they did not run."}, "INFO stats", one(func(l *look) uint64 { return l.n.router.Counters.NoLeader.Load() })},
	{metrics.Desc{Name: "lockstep_users_unconfirmed_seconds", Kind: metrics.Gauge, Help: "For how long nobody has confirmed that this node has the cluster's users as they are (acl-stale-admin-ms)."}, "the node's copy of the users", one((*look).usersUnconfirmedSeconds)},
	{metrics.Desc{Name: "lockstep_client_buffers_bytes", Kind: metrics.Gauge, Help: "What clients' requests and replies take that are not done."}, "connections", one(func(l *look) int64 { return l.buffers.Bytes })},
	{metrics.Desc{Name: "lockstep_client_output_limit_disconnections_total", Kind: metrics.Counter, Help: "Clients closed for reading too slowly (client-output-buffer-limit)."}, "INFO stats", one(func(l *look) uint64 { return l.n.front.stats.OutputClosed.Load() })},
	{metrics.Desc{Name: "lockstep_client_evictions_total", Kind: metrics.Counter, Help: "Clients closed for what all together held (maxmemory-clients)."}, "INFO stats", one(func(l *look) uint64 { return l.n.front.stats.EvictedClients.Load() })},
	{metrics.Desc{Name: "lockstep_client_query_limit_disconnections_total", Kind: metrics.Counter, Help: "Clients closed for a request that was too large (client-query-buffer-limit)."}, "INFO stats", one(func(l *look) uint64 { return l.n.front.stats.QueryClosed.Load() })},
	{metrics.Desc{Name: "lockstep_protocol_errors_total", Kind: metrics.Counter, Help: "Clients closed for bytes that are no request."}, "INFO stats", one(func(l *look) uint64 { return l.n.front.stats.ProtocolErrors.Load() })},
	{metrics.Desc{Name: "lockstep_connection_panics_total", Kind: metrics.Counter, Labels: []string{"port"}, Help: "Connections of a port (peer, client, admin) that were closed because the code that served them panicked. Each is a bug; the log has the stack."}, "connections", func(l *look, p *metrics.Page) {
		p.Add(float64(l.n.panics.peers.Count()), "peer")
		p.Add(float64(l.n.panics.clients.Count()), "client")
		p.Add(float64(l.n.panics.admin.Count()), "admin")
	}},
	{metrics.Desc{Name: "lockstep_tracking_clients", Kind: metrics.Gauge, Help: "Clients that are told when what they cache changes."}, "INFO clients", one(func(l *look) int { return l.n.tracking.Counts().Clients })},
	{metrics.Desc{Name: "lockstep_tracking_keys", Kind: metrics.Gauge, Help: "Keys that they are told of."}, "INFO stats", one(func(l *look) int { return l.n.tracking.Counts().Keys })},
	{metrics.Desc{Name: "lockstep_pubsub_clients", Kind: metrics.Gauge, Help: "Clients with subscriptions."}, "INFO clients", one(func(l *look) int { return l.buffers.Listening })},
	{metrics.Desc{Name: "lockstep_pubsub_shard_channels", Kind: metrics.Gauge, Help: "Shard channels with subscribers here."}, "INFO stats", one(func(l *look) int { return int(l.n.messages.hub.Names(pubsub.Shard)) })},
	{metrics.Desc{Name: "lockstep_pubsub_dropped_messages_total", Kind: metrics.Counter, Help: "Published messages that did not reach another node."}, "messages", one(func(l *look) uint64 { return l.n.messages.dropped.Load() })},
	{metrics.Desc{Name: "lockstep_peer_links", Kind: metrics.Gauge, Help: "Connections to and from other nodes."}, "the transport", one(func(l *look) int { return len(l.n.transport.Links()) })},
	{metrics.Desc{Name: "lockstep_peer_round_trip_seconds", Kind: metrics.Gauge, Labels: []string{"peer"}, Help: "What the last ping to another node took there and back, with what it waited behind; one is sent every three seconds."}, "the transport", readRoundTrips},
	{metrics.Desc{Name: "lockstep_peer_queued_bytes", Kind: metrics.Gauge, Help: "What waits to be written to them."}, "the transport", one(func(l *look) int {
		sum := 0
		for _, link := range l.n.transport.Links() {
			sum += link.QueuedBytes
		}
		return sum
	})},
}

// processMetrics tell of the process and its machine; those without lockstep_
// have the names that every exporter gives them.
var processMetrics = []metric{
	{metrics.Desc{Name: "lockstep_gc_cycles_total", Kind: metrics.Counter, Help: "Collections of garbage."}, "the Go runtime", one(func(*look) int64 { return runtimeNumbers(metricCycles)[0] })},
	{metrics.Desc{Name: "lockstep_heap_bytes", Kind: metrics.Gauge, Help: "Go's heap: data, garbage that is not collected yet, and buffers."}, "the Go runtime", one(func(l *look) int64 { return l.memory.AllocatedBytes })},
	{metrics.Desc{Name: "lockstep_disk_free_bytes", Kind: metrics.Gauge, Help: "Room left on the data folder's disk."}, "the file system", func(l *look, p *metrics.Page) {
		if free, _, ok := l.n.disk(); ok {
			p.Add(float64(free))
		}
	}},
	{metrics.Desc{Name: "lockstep_disk_size_bytes", Kind: metrics.Gauge, Help: "Size of the data folder's disk."}, "the file system", func(l *look, p *metrics.Page) {
		if _, size, ok := l.n.disk(); ok {
			p.Add(float64(size))
		}
	}},
	{metrics.Desc{Name: "lockstep_data_size_bytes", Kind: metrics.Gauge, Labels: []string{"what"}, Help: "What the data folder's files take: log, snapshots, votes (term and vote), and other."}, "the file system", readDataSizes},
	{metrics.Desc{Name: "go_goroutines", Kind: metrics.Gauge, Help: "Goroutines."}, "the Go runtime", one(func(*look) int { return runtime.NumGoroutine() })},
	{metrics.Desc{Name: "process_resident_memory_bytes", Kind: metrics.Gauge, Help: "Memory of the process, without pages of files."}, "/proc", one(func(l *look) int64 { return l.memory.RSSBytes })},
	{metrics.Desc{Name: "process_cpu_seconds_total", Kind: metrics.Counter, Help: "CPU time, user and system."}, "getrusage", one(func(*look) float64 { user, system := cpuSeconds(); return user + system })},
	{metrics.Desc{Name: "process_open_fds", Kind: metrics.Gauge, Help: "Open files and sockets."}, "/proc", func(_ *look, p *metrics.Page) {
		if open, err := os.ReadDir("/proc/self/fd"); err == nil {
			p.Add(float64(len(open)))
		}
	}},
	{metrics.Desc{Name: "process_max_fds", Kind: metrics.Gauge, Help: "How many there may be."}, "getrlimit", func(_ *look, p *metrics.Page) {
		var files unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
			p.Add(float64(files.Cur))
		}
	}},
	{metrics.Desc{Name: "process_start_time_seconds", Kind: metrics.Gauge, Help: "When the process started, in Unix time."}, "the process", one(func(l *look) int64 { return l.n.started.Unix() })},
}

// disk is the room on the data folder's disk, in bytes.
func (n *Node) disk() (free, size int64, ok bool) {
	var fs unix.Statfs_t
	if unix.Statfs(n.folder.Dir(), &fs) != nil {
		return 0, 0, false
	}
	block := int64(fs.Bsize) // of another type on each system
	return int64(fs.Bavail) * block, int64(fs.Blocks) * block, true
}

// cpuSeconds is the CPU time of the process.
func cpuSeconds() (user, system float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()).Seconds(), time.Duration(u.Stime.Nano()).Seconds()
}
