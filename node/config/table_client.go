package config

import (
	"fmt"
	"math"

	"lockstep/engine/command"
	"lockstep/fsm"
)

// The rows that concern clients: the cluster as clients see it, limits, security, memory, and those
// for observing a node.

const maxMemory = math.MaxInt64

var faceDirectives = []*Directive{
	{
		Name: "cluster-enabled", Default: "yes", Flags: Immutable,
		Doc:     "Present the node as part of a Redis Cluster: CLUSTER commands, cluster_enabled:1. `no` presents a single server. Every node serves every key either way.",
		Differs: "users usually give a client several addresses, and client libraries then expect a cluster",
		kind:    into(yesNo(), func(s *Settings) *bool { return &s.ClusterEnabled }),
	},
	{
		Name: "cluster-announce-ip", Default: "",
		Doc:  "IP address that CLUSTER commands and MOVED give to clients for this node. Empty: the first address of `bind`.",
		More: "If `bind` is every address, empty means the host of `peer-address`.",
		kind: into(text(), func(s *Settings) *string { return &s.ClusterAnnounceIP }),
	},
	{
		Name: "cluster-announce-hostname", Default: "",
		Doc:  "Host name that CLUSTER commands and MOVED give to clients for this node.",
		kind: into(checkedText("host name", checkHostname), func(s *Settings) *string { return &s.ClusterAnnounceHostname }),
	},
	{
		Name: "cluster-announce-port", Default: "0",
		Doc:  "Port that CLUSTER commands and MOVED give to clients. 0: the value of `port`.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.ClusterAnnouncePort }),
	},
	{
		Name: "cluster-announce-tls-port", Default: "0",
		Doc:  "Port that CLUSTER commands and MOVED give to clients connected by TLS. 0: the value of `tls-port`.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.ClusterAnnounceTLSPort }),
	},
	{
		Name: "cluster-announce-bus-port", Default: "0", Flags: Immutable,
		Doc:  "Peer port at which other nodes reach this one. 0: the value of `peer-port`.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.ClusterAnnounceBusPort }),
	},
	{
		Name: "cluster-preferred-endpoint-type", Default: string(EndpointIP),
		Doc:  "How CLUSTER commands and MOVED name nodes: by IP address, by host name, or not at all (the client keeps the host that it dialled).",
		More: "With `hostname`, a node that announces no host name is shown as `?`.",
		kind: into(oneOf(EndpointIP, EndpointHostname, EndpointUnknown), func(s *Settings) *EndpointType { return &s.ClusterPreferredEndpoint }),
	},
	{
		Name: "client-role", Default: string(RoleAuto),
		Doc:  "Role shown by INFO, HELLO and ROLE. `auto`: master on every node that takes writes. `primary`: always master. `raft`: followers are slaves.",
		More: "Some clients send no writes to a node that is shown as a slave.",
		kind: into(oneOf(RoleAuto, RoleRaft, RolePrimary), func(s *Settings) *ClientRole { return &s.ClientRole }),
	},
}

var clientDirectives = []*Directive{
	{
		Name: "maxclients", Default: "10000",
		Doc:  "Most clients that may be connected at once.",
		kind: into(integer(1, math.MaxUint32), func(s *Settings) *int { return &s.MaxClients }),
	},
	{
		Name: "timeout", Default: "0",
		Doc:  "Seconds after which the node closes an idle client. 0: never.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.TimeoutSeconds }),
	},
	{
		Name: "tcp-keepalive", Default: "300",
		Doc:  "Seconds between TCP keepalive probes. 0: no probes.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.TCPKeepaliveSeconds }),
	},
	{
		Name: "proto-max-bulk-len", Default: fmt.Sprintf("%dmb", fsm.ValueBytesMax>>20), Flags: Replicated,
		Doc: "Longest argument that a client may send, and longest string that a command may make.",
		More: fmt.Sprintf("A write or a transaction is one log entry, and so is at most %d MB long, whatever this setting says. "+
			"APPEND and SETRANGE make longer strings.", fsm.TxnBytesMax>>20),
		Differs: "a value is one log entry. Every node on its way holds it in memory several times, and a slow peer must receive it within the election time. Redis's 512mb is the most that can be set",
		kind:    into(memory(1<<20, 512<<20), func(s *Settings) *int64 { return &s.ProtoMaxBulkLen }),
	},
	{
		Name: "client-query-buffer-limit", Default: "128mb",
		Doc:     "Most bytes of one command: all its arguments together, and what the node has buffered of it. Not less than proto-max-bulk-len.",
		Differs: "it follows proto-max-bulk-len",
		kind:    into(memory(1<<20, maxMemory), func(s *Settings) *int64 { return &s.ClientQueryBufferLimit }),
	},
	{
		Name: "client-output-buffer-limit", Flags: repeats,
		Default: "normal 256mb 64mb 60 replica 256mb 64mb 60 pubsub 32mb 8mb 60",
		Doc:     "Close a client whose unread replies exceed `hard` bytes, or `soft` bytes for `seconds`. Classes: normal, replica, pubsub.",
		More:    "If each of the two limits is 0 or at least 16mb, a client's next commands wait while 8mb of replies wait for it. A client that reads is then slowed down, not closed.",
		Differs: "Redis sets no limit for normal clients; here everything has one",
		kind:    into(outputLimits(), func(s *Settings) *OutputLimits { return &s.ClientOutputBufferLimits }),
	},
	{
		Name: "maxmemory-clients", Default: "0",
		Doc:  "Bytes that all clients of a node together may hold, or a percentage of maxmemory. 0: an eighth of the memory of the machine or container, at least 128mb.",
		More: "It counts requests, transactions and replies that clients have not read. Above the limit the node closes the clients that hold most, except those with CLIENT NO-EVICT. If maxmemory is not set, a percentage is of the memory of the machine or container. A value below 128kb counts as 128kb. In Redis, 0 is no limit.",
		kind: into(clientsMemory(), func(s *Settings) *ClientsMemory { return &s.MaxMemoryClients }),
	},
	trackingDirective,
}

// trackingDirective bounds what client-side caching costs.
var trackingDirective = &Directive{
	Name: "tracking-table-max-keys", Default: "1000000",
	Doc:  "Most keys that CLIENT TRACKING remembers for the clients of this node. 0: no limit to their number.",
	More: "Above this number, or above 256 MB of key names, the node forgets some keys and tells the clients concerned to drop them.",
	kind: into(integer64(0, math.MaxInt64), func(s *Settings) *int64 { return &s.TrackingTableMaxKeys }),
}

var securityDirectives = []*Directive{
	{
		Name: "requirepass", Default: "", Flags: Secret,
		Doc:  "Password of the default user. Empty: no password.",
		More: "It holds until the default user is given rules by CONFIG SET requirepass or ACL SETUSER. Those rules belong to the cluster.",
		kind: into(text(), func(s *Settings) *string { return &s.RequirePass }),
	},
	{
		Name: "cluster-secret", Default: "", Flags: Secret | concealed,
		Doc:  "Secret that only the nodes of the cluster know: 16 to 256 visible characters, the same on all nodes. `openssl rand -hex 32` prints one.",
		More: "While you change the secret, a second word is the previous secret, which nodes accept too. Empty: the node uses the secret in its data folder, or derives one from requirepass, or the founder makes one and passes it on (docs/security.md). CONFIG GET does not show it. Give it in a file or in the environment: everybody on the machine can see a process's arguments.",
		kind: into(clusterSecret(), func(s *Settings) *string { return &s.ClusterSecret }),
	},
	{
		Name: "cluster-secret-file", Default: "", Flags: Immutable,
		Doc:  "File with the cluster secret and, while you change it, the previous one behind it. The node reads the file again every two seconds.",
		More: "Lines that begin with # are comments. It cannot be combined with cluster-secret.",
		kind: into(text(), func(s *Settings) *string { return &s.ClusterSecretFile }),
	},
	{
		Name: "aclfile", Default: "", Flags: Immutable,
		Doc:  "File of users, in the form of ACL LIST. The cluster takes these users while it has none of its own.",
		More: "Afterwards only ACL LOAD and ACL SAVE use the file.",
		kind: into(text(), func(s *Settings) *string { return &s.ACLFile }),
	},
	{
		Name: "user", Default: "", Flags: fileOnly | repeats | Secret, between: userWord,
		Doc:  "One user and its rules, as a line of redis.conf. The cluster takes these users while it has none of its own. It cannot be combined with aclfile.",
		kind: into(userLines(), func(s *Settings) *[]string { return &s.Users }),
	},
	{
		Name: "acl-stale-admin-ms", Default: "60000",
		Doc:  "How long a node still runs commands of @admin while it cannot ask the meta group's leader whether the users have changed. 0: for ever.",
		More: "A node that knows neither a user nor a password is not held to it (docs/security.md).",
		kind: into(milliseconds(0, math.MaxInt32), func(s *Settings) *int { return &s.ACLStaleAdminMs }),
	},
	{
		Name: "acl-stale-ms", Default: "3600000",
		Doc:  "The same for all other commands, including those that log in. 0: for ever.",
		kind: into(milliseconds(0, math.MaxInt32), func(s *Settings) *int { return &s.ACLStaleMs }),
	},
	{
		Name: "acl-pubsub-default", Default: string(HearNothing),
		Doc:  "Channels that a new user may use.",
		kind: into(oneOf(HearAll, HearNothing), func(s *Settings) *ChannelsDefault { return &s.ACLPubSubDefault }),
	},
	{
		Name: "acllog-max-len", Default: "128",
		Doc:  "Most entries that ACL LOG keeps.",
		kind: into(integer64(0, 1<<20), func(s *Settings) *int64 { return &s.ACLLogMaxLen }),
	},
	{
		Name: "enable-debug-command", Default: string(DebugNobody), Flags: Immutable,
		Doc:  "Clients that may use DEBUG: none, all, or those on this machine.",
		kind: into(oneOf(DebugNobody, DebugEverybody, DebugLocal), func(s *Settings) *DebugAccess { return &s.EnableDebugCommand }),
	},
}

var memoryDirectives = []*Directive{
	{
		Name: "maxmemory", Default: "0", Flags: Replicated,
		Doc:  "Bytes that a node's keys, values, scripts and functions may take (used_memory), all shards together. 0: no limit.",
		More: "Above it the node evicts keys, or refuses writes that may need memory. The value is the same on all nodes, because the leader of a shard evicts for all replicas.",
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
		Doc:  "Keys that are compared for each eviction. More than 64 count as 64.",
		More: "volatile-ttl compares none: each lock slot knows its nearest expiry.",
		kind: into(integer64(1, math.MaxInt32), func(s *Settings) *int64 { return &s.Engine.EvictionSamples }),
	},
	{
		Name: "lfu-log-factor", Default: "10", Flags: Replicated,
		Doc:  "How much more slowly the counter of an LFU policy grows the higher it is.",
		kind: into(integer64(0, math.MaxInt32), func(s *Settings) *int64 { return &s.Engine.LFULogFactor }),
	},
	{
		Name: "lfu-decay-time", Default: "1", Flags: Replicated,
		Doc:  "Minutes without use after which the counter of an LFU policy falls by one. 0: never.",
		kind: into(integer64(0, math.MaxInt32), func(s *Settings) *int64 { return &s.Engine.LFUDecayMin }),
	},
	{
		Name: "txn-max-work-ms", Default: "5000", Flags: Replicated,
		Doc:  "Work that one command or transaction may do, in milliseconds of one core. A command that would exceed it is refused and changes nothing. 0: no limit.",
		More: "Work is computed from what a command does, not measured by a clock, so that all nodes agree. It counts if a command reads whole values to answer little, or writes what was not in its arguments (SORT, ZUNIONSTORE, BITCOUNT, KEYS, a SETRANGE far beyond the end).",
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
		Doc:  "Least important level that is logged.",
		kind: into(oneOf(LogDebug, LogVerbose, LogNotice, LogWarning), func(s *Settings) *LogLevel { return &s.LogLevel }),
	},
	{
		Name: "logfile", Default: "", Flags: Immutable,
		Doc:  "File to which the log is appended. Empty: standard error.",
		kind: into(text(), func(s *Settings) *string { return &s.LogFile }),
	},
	{
		Name: "log-format", Default: string(LogText), Flags: Immutable,
		Doc:  "Form of log lines.",
		kind: into(oneOf(LogText, LogJSON), func(s *Settings) *LogFormat { return &s.LogFormat }),
	},
	{
		Name: "slowlog-log-slower-than", Default: "10000",
		Doc:  "Microseconds of execution above which a command enters SLOWLOG. -1 logs none, 0 logs all.",
		kind: into(integer64(-1, math.MaxInt64), func(s *Settings) *int64 { return &s.SlowlogLogSlowerThan }),
	},
	{
		Name: "slowlog-max-len", Default: "128",
		Doc:  "Most entries that SLOWLOG keeps.",
		kind: into(integer64(0, math.MaxInt64), func(s *Settings) *int64 { return &s.SlowlogMaxLen }),
	},
	{
		Name: "latency-tracking", Default: "yes",
		Doc:  "Keep how long commands took, for LATENCY HISTOGRAM and INFO latencystats. It takes 24 KiB for each command that is used.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.LatencyTracking }),
	},
	{
		Name: "latency-tracking-info-percentiles", Default: "50 99 99.9",
		Doc:  "Percentiles that INFO latencystats shows.",
		kind: into(percentiles(), func(s *Settings) *[]string { return &s.LatencyPercentiles }),
	},
	{
		Name: "latency-monitor-threshold", Default: "0",
		Doc:  "Milliseconds from which an event is kept for LATENCY LATEST and the other LATENCY commands. 0: none.",
		kind: into(integer64(0, math.MaxInt64), func(s *Settings) *int64 { return &s.LatencyThresholdMs }),
	},
	{
		Name: "supervised", Default: "no", Flags: Immutable,
		Doc:  "`systemd` and `auto` tell systemd (a unit of `Type=notify`) when the node is ready and when it is stopping.",
		More: "Ready means what `/readyz` means. There are two exceptions, so that no node's start waits for another's. A node that belongs to no cluster yet counts as ready while it looks for one. A node that has not become ready counts as ready 30 s after it began to serve.",
		kind: into(oneOf(SupervisedUpstart, SupervisedSystemd, SupervisedAuto, SupervisedNo), func(s *Settings) *Supervision { return &s.Supervised }),
	},
	{
		Name: "shutdown-delay-ms", Default: "0",
		Doc:  "How long a node that is told to stop keeps serving while /readyz says no. It comes before shutdown-timeout.",
		More: "A load balancer has this time to send its clients elsewhere.",
		kind: into(milliseconds(0, 600_000), func(s *Settings) *int { return &s.ShutdownDelayMs }),
	},
	{
		Name: "shutdown-timeout", Default: "10",
		Doc:  "Seconds that a node, when told to stop, may take to hand over its leadership and finish the work that it accepted.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.ShutdownTimeoutSeconds }),
	},
}
