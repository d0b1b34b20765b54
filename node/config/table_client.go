package config

import (
	"fmt"
	"math"

	"lockstep/engine/command"
	"lockstep/fsm"
)

// The rows that clients meet: the cluster face, limits, security, memory, and
// the ones for looking at a node.

const maxMemory = math.MaxInt64

var faceDirectives = []*Directive{
	{
		Name: "cluster-enabled", Default: "yes", Flags: Immutable,
		Doc:     "Show the face of Redis Cluster (CLUSTER commands, cluster_enabled:1), so that clients given several addresses work. `no` shows a lone server; every node still serves every key.",
		Differs: "several addresses are the usual case here, and client libraries given several addresses ask for a cluster",
		kind:    into(yesNo(), func(s *Settings) *bool { return &s.ClusterEnabled }),
	},
	{
		Name: "cluster-announce-ip", Default: "",
		Doc:  "IP that CLUSTER commands and MOVED give to clients for this node; empty is the first of `bind`, or where that is all addresses the host of `peer-address`. It may be set while the node runs.",
		kind: into(text(), func(s *Settings) *string { return &s.ClusterAnnounceIP }),
	},
	{
		Name: "cluster-announce-hostname", Default: "",
		Doc:  "Host name that CLUSTER commands and MOVED give to clients for this node. It may be set while the node runs.",
		kind: into(checkedText("host name", checkHostname), func(s *Settings) *string { return &s.ClusterAnnounceHostname }),
	},
	{
		Name: "cluster-announce-port", Default: "0",
		Doc:  "Port that CLUSTER commands and MOVED give to clients; 0 is `port`. It may be set while the node runs.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.ClusterAnnouncePort }),
	},
	{
		Name: "cluster-announce-tls-port", Default: "0",
		Doc:  "Port that CLUSTER commands and MOVED give to clients that came by TLS; 0 is `tls-port`. It may be set while the node runs.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.ClusterAnnounceTLSPort }),
	},
	{
		Name: "cluster-announce-bus-port", Default: "0", Flags: Immutable,
		Doc:  "Peer port under which other nodes reach this one; 0 is `peer-port`.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.ClusterAnnounceBusPort }),
	},
	{
		Name: "cluster-preferred-endpoint-type", Default: string(EndpointIP),
		Doc:  "What CLUSTER commands and MOVED name nodes by: their IP, their host name (`?` where none is announced), or nothing, so that clients keep the host they dialled.",
		kind: into(oneOf(EndpointIP, EndpointHostname, EndpointUnknown), func(s *Settings) *EndpointType { return &s.ClusterPreferredEndpoint }),
	},
	{
		Name: "client-role", Default: string(RoleAuto),
		Doc:  "Role shown by INFO, HELLO and ROLE: `raft` shows followers as slaves, to which some clients then send no writes; `primary` shows master always; `auto` shows master on every node that takes writes.",
		kind: into(oneOf(RoleAuto, RoleRaft, RolePrimary), func(s *Settings) *ClientRole { return &s.ClientRole }),
	},
}

var clientDirectives = []*Directive{
	{
		Name: "maxclients", Default: "10000",
		Doc:  "Clients that may be connected at once.",
		kind: into(integer(1, math.MaxUint32), func(s *Settings) *int { return &s.MaxClients }),
	},
	{
		Name: "timeout", Default: "0",
		Doc:  "Seconds after which an idle client is closed; 0 is never.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.TimeoutSeconds }),
	},
	{
		Name: "tcp-keepalive", Default: "300",
		Doc:  "Seconds between TCP keepalive probes; 0 is none.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.TCPKeepaliveSeconds }),
	},
	{
		Name: "proto-max-bulk-len", Default: fmt.Sprintf("%dmb", fsm.ValueBytesMax>>20), Flags: Replicated,
		Doc: fmt.Sprintf("Longest argument a client may send, and longest string a command may make. A write, and a transaction, may be %d MB long "+
			"at most, whatever stands here: it is one log entry. APPEND and SETRANGE make longer strings.", fsm.TxnBytesMax>>20),
		Differs: "a value is one log entry: it is held in memory several times on every node on its way, and a slow peer must take it whole within the election time. Redis's 512mb is the most that can be set",
		kind:    into(memory(1<<20, 512<<20), func(s *Settings) *int64 { return &s.ProtoMaxBulkLen }),
	},
	{
		Name: "client-query-buffer-limit", Default: "128mb",
		Doc:     "Bytes of one command, all arguments together, and of what is buffered of it; not less than proto-max-bulk-len.",
		Differs: "follows proto-max-bulk-len",
		kind:    into(memory(1<<20, maxMemory), func(s *Settings) *int64 { return &s.ClientQueryBufferLimit }),
	},
	{
		Name: "client-output-buffer-limit", Flags: repeats,
		Default: "normal 256mb 64mb 60 replica 256mb 64mb 60 pubsub 32mb 8mb 60",
		Doc:     "Replies that wait for a client that does not read: it is closed above `hard`, or after `seconds` above `soft`. Classes: normal, replica, pubsub. Where both are 0 or at least 16mb, the next commands of a client wait while 8mb wait for it: one that reads is slowed down and not closed.",
		Differs: "normal clients have no limit in Redis; here everything has one",
		kind:    into(outputLimits(), func(s *Settings) *OutputLimits { return &s.ClientOutputBufferLimits }),
	},
	{
		Name: "maxmemory-clients", Default: "0",
		Doc:  "Bytes that all clients of a node together may hold: requests, transactions, and what waits for those that do not read; also as a percentage of maxmemory, or of the memory of the machine or container where that is not set. Beyond, those are closed that hold most, but for those of CLIENT NO-EVICT. 0 is an eighth of the memory of the machine or container, at least 128mb; in Redis it is no limit. Less than 128kb counts as that much.",
		kind: into(clientsMemory(), func(s *Settings) *ClientsMemory { return &s.MaxMemoryClients }),
	},
	trackingDirective,
}

// trackingDirective bounds what client-side caching costs.
var trackingDirective = &Directive{
	Name: "tracking-table-max-keys", Default: "1000000",
	Doc:  "Keys that CLIENT TRACKING remembers for the clients of this node; beyond that, or where their names have more than 256 MB, some are forgotten and their clients told to drop them. 0 is no limit to their number.",
	kind: into(integer64(0, math.MaxInt64), func(s *Settings) *int64 { return &s.TrackingTableMaxKeys }),
}

var securityDirectives = []*Directive{
	{
		Name: "requirepass", Default: "", Flags: Secret,
		Doc:  "Password of the default user; empty is none. It holds until the default user is given rules (CONFIG SET requirepass, ACL SETUSER), which are the cluster's.",
		kind: into(text(), func(s *Settings) *string { return &s.RequirePass }),
	},
	{
		Name: "cluster-secret", Default: "", Flags: Secret | concealed,
		Doc:  "What the nodes of the cluster know and nobody else does: 16 to 256 visible characters, the same on all nodes, such as `openssl rand -hex 32` prints. While it is changed a second word behind it is the previous one, which is accepted, too. Empty: the secret in the data folder, or one derived from requirepass, or one that the founder makes and hands on (docs/security.md). CONFIG GET does not show it. Better in a file or the environment than among the arguments, which everybody on the machine can see.",
		kind: into(clusterSecret(), func(s *Settings) *string { return &s.ClusterSecret }),
	},
	{
		Name: "cluster-secret-file", Default: "", Flags: Immutable,
		Doc:  "File with the cluster secret, and the previous one behind it while it is changed; lines that begin with # do not count. It is read again every two seconds. Not together with cluster-secret.",
		kind: into(text(), func(s *Settings) *string { return &s.ClusterSecretFile }),
	},
	{
		Name: "aclfile", Default: "", Flags: Immutable,
		Doc:  "File of users, in the form of ACL LIST. The cluster takes them while it has none of its own; later ACL LOAD and ACL SAVE alone look at it.",
		kind: into(text(), func(s *Settings) *string { return &s.ACLFile }),
	},
	{
		Name: "user", Default: "", Flags: fileOnly | repeats | Secret, between: userWord,
		Doc:  "A user with its rules, in redis.conf; one line each. The cluster takes them while it has no users of its own. Not together with aclfile.",
		kind: into(userLines(), func(s *Settings) *[]string { return &s.Users }),
	},
	{
		Name: "acl-stale-admin-ms", Default: "60000",
		Doc:  "For how long a node that cannot ask the meta group's leader whether the users have changed goes on to run commands of @admin; 0: for ever. Clusters without a password or a user are not held to it (docs/security.md).",
		kind: into(milliseconds(0, math.MaxInt32), func(s *Settings) *int { return &s.ACLStaleAdminMs }),
	},
	{
		Name: "acl-stale-ms", Default: "3600000",
		Doc:  "The same for all other commands, logging in among them; 0: for ever.",
		kind: into(milliseconds(0, math.MaxInt32), func(s *Settings) *int { return &s.ACLStaleMs }),
	},
	{
		Name: "acl-pubsub-default", Default: string(HearNothing),
		Doc:  "Which channels a new user may use.",
		kind: into(oneOf(HearAll, HearNothing), func(s *Settings) *ChannelsDefault { return &s.ACLPubSubDefault }),
	},
	{
		Name: "acllog-max-len", Default: "128",
		Doc:  "Length of ACL LOG.",
		kind: into(integer64(0, 1<<20), func(s *Settings) *int64 { return &s.ACLLogMaxLen }),
	},
	{
		Name: "enable-debug-command", Default: string(DebugNobody), Flags: Immutable,
		Doc:  "Who may use DEBUG: nobody, everybody, or clients on this machine.",
		kind: into(oneOf(DebugNobody, DebugEverybody, DebugLocal), func(s *Settings) *DebugAccess { return &s.EnableDebugCommand }),
	},
}

var memoryDirectives = []*Directive{
	{
		Name: "maxmemory", Default: "0", Flags: Replicated,
		Doc:  "Bytes that keys and values, scripts and functions of a node may take (used_memory), all shards together; 0 is no limit. Beyond, keys are evicted, or writes that may need memory are refused. It is the same on all nodes: the leader of a shard evicts for all.",
		kind: into(memory(0, maxMemory), func(s *Settings) *int64 { return &s.Engine.MemoryBytesMax }),
	},
	{
		Name: "maxmemory-policy", Default: string(EvictNothing), Flags: Replicated,
		Doc: "Which keys are evicted when maxmemory is reached.",
		kind: into(oneOf(EvictVolatileLRU, EvictVolatileLFU, EvictVolatileRandom, EvictVolatileTTL,
			EvictAllKeysLRU, EvictAllKeysLFU, EvictAllKeysRandom, EvictNothing), func(s *Settings) *EvictionPolicy { return &s.MaxMemoryPolicy }),
	},
	{
		Name: "maxmemory-samples", Default: "5", Flags: Replicated,
		Doc:  "Keys that are looked at for each that is evicted; more than 64 count as 64. volatile-ttl looks at none: lock slots know their nearest expiry.",
		kind: into(integer64(1, math.MaxInt32), func(s *Settings) *int64 { return &s.Engine.EvictionSamples }),
	},
	{
		Name: "lfu-log-factor", Default: "10", Flags: Replicated,
		Doc:  "How much slower the counter of an LFU policy grows the higher it stands.",
		kind: into(integer64(0, math.MaxInt32), func(s *Settings) *int64 { return &s.Engine.LFULogFactor }),
	},
	{
		Name: "lfu-decay-time", Default: "1", Flags: Replicated,
		Doc:  "Minutes without use after which the counter of an LFU policy falls by one; 0 is never.",
		kind: into(integer64(0, math.MaxInt32), func(s *Settings) *int64 { return &s.Engine.LFUDecayMin }),
	},
	{
		Name: "txn-max-work-ms", Default: "5000", Flags: Replicated,
		Doc:  "Work that one command or transaction may do, in milliseconds of one core; 0 is no limit. Work is counted by what a command does and not by a clock, so that all nodes agree; it counts where a command goes over whole values to answer little, or writes what was not in its arguments (SORT, ZUNIONSTORE, BITCOUNT, KEYS, a far SETRANGE). A command that would go beyond is refused and changes nothing.",
		kind: into(integer64(0, command.WorkMaxMs), func(s *Settings) *int64 { return &s.Engine.TxnWorkMaxMs }),
	},
	{
		Name: "notify-keyspace-events", Default: "", Flags: Replicated,
		Doc:  "Keyspace events that each node publishes to its own subscribers, as letters.",
		kind: into(eventClasses(), func(s *Settings) *EventClasses { return &s.NotifyKeyspaceEvents }),
	},
}

var observeDirectives = []*Directive{
	{
		Name: "loglevel", Default: string(LogNotice),
		Doc:  "Least important lines that are logged.",
		kind: into(oneOf(LogDebug, LogVerbose, LogNotice, LogWarning), func(s *Settings) *LogLevel { return &s.LogLevel }),
	},
	{
		Name: "logfile", Default: "", Flags: Immutable,
		Doc:  "File the log is appended to; empty is standard error.",
		kind: into(text(), func(s *Settings) *string { return &s.LogFile }),
	},
	{
		Name: "log-format", Default: string(LogText), Flags: Immutable,
		Doc:  "Form of log lines.",
		kind: into(oneOf(LogText, LogJSON), func(s *Settings) *LogFormat { return &s.LogFormat }),
	},
	{
		Name: "slowlog-log-slower-than", Default: "10000",
		Doc:  "Microseconds of execution above which a command enters SLOWLOG; -1 is none, 0 all.",
		kind: into(integer64(-1, math.MaxInt64), func(s *Settings) *int64 { return &s.SlowlogLogSlowerThan }),
	},
	{
		Name: "slowlog-max-len", Default: "128",
		Doc:  "Entries that SLOWLOG keeps.",
		kind: into(integer64(0, math.MaxInt64), func(s *Settings) *int64 { return &s.SlowlogMaxLen }),
	},
	{
		Name: "latency-tracking", Default: "yes",
		Doc:  "Keep how long commands took, for LATENCY HISTOGRAM and INFO latencystats: 24 KiB for each command that is used.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.LatencyTracking }),
	},
	{
		Name: "latency-tracking-info-percentiles", Default: "50 99 99.9",
		Doc:  "Percentiles that INFO latencystats shows.",
		kind: into(percentiles(), func(s *Settings) *[]string { return &s.LatencyPercentiles }),
	},
	{
		Name: "latency-monitor-threshold", Default: "0",
		Doc:  "Milliseconds from which an event is kept for LATENCY LATEST and its kin; 0 is none.",
		kind: into(integer64(0, math.MaxInt64), func(s *Settings) *int64 { return &s.LatencyThresholdMs }),
	},
	{
		Name: "supervised", Default: "no", Flags: Immutable,
		Doc:  "`systemd`, or `auto`, tells systemd (unit of `Type=notify`) when the node is ready, as `/readyz` means it, and when it is stopping. One that belongs to no cluster yet counts as ready while it looks for one, and one that has not become ready does 30 s after it began to serve, so that no start waits for another's.",
		kind: into(oneOf(SupervisedUpstart, SupervisedSystemd, SupervisedAuto, SupervisedNo), func(s *Settings) *Supervision { return &s.Supervised }),
	},
	{
		Name: "shutdown-delay-ms", Default: "0",
		Doc:  "How long a node told to stop serves on as before while /readyz says no, so that who balances load sends its clients elsewhere first. It comes before shutdown-timeout.",
		kind: into(milliseconds(0, 600_000), func(s *Settings) *int { return &s.ShutdownDelayMs }),
	},
	{
		Name: "shutdown-timeout", Default: "10",
		Doc:  "Seconds that a node told to stop may take to hand over its leadership and finish what it took on.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.ShutdownTimeoutSeconds }),
	},
}
