package config

import "math"

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
		Name: "cluster-announce-ip", Default: "", Flags: Immutable,
		Doc:  "Address that CLUSTER SLOTS gives to clients for this node; empty is the one they connected to.",
		kind: into(text(), func(s *Settings) *string { return &s.ClusterAnnounceIP }),
	},
	{
		Name: "cluster-announce-hostname", Default: "", Flags: Immutable,
		Doc:  "Host name that CLUSTER SLOTS gives to clients for this node.",
		kind: into(checkedText("host name", checkHostname), func(s *Settings) *string { return &s.ClusterAnnounceHostname }),
	},
	{
		Name: "cluster-announce-port", Default: "0", Flags: Immutable,
		Doc:  "Port that CLUSTER SLOTS gives to clients; 0 is `port`.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.ClusterAnnouncePort }),
	},
	{
		Name: "cluster-announce-bus-port", Default: "0", Flags: Immutable,
		Doc:  "Peer port under which other nodes reach this one; 0 is `peer-port`.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.ClusterAnnounceBusPort }),
	},
	{
		Name: "cluster-preferred-endpoint-type", Default: string(EndpointIP),
		Doc:  "What CLUSTER SLOTS names nodes by.",
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
		Name: "proto-max-bulk-len", Default: "64mb", Flags: Replicated,
		Doc:     "Longest argument a client may send, and longest string a command may make.",
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
		Doc:     "Replies that wait for a client that does not read: it is closed above `hard`, or after `seconds` above `soft`. Classes: normal, replica, pubsub.",
		Differs: "normal clients have no limit in Redis; here everything has one",
		kind:    into(outputLimits(), func(s *Settings) *OutputLimits { return &s.ClientOutputBufferLimits }),
	},
}

var securityDirectives = []*Directive{
	{
		Name: "requirepass", Default: "", Flags: Secret,
		Doc:  "Password of the default user; empty is none. Set it on every node.",
		kind: into(text(), func(s *Settings) *string { return &s.RequirePass }),
	},
	{
		Name: "enable-debug-command", Default: string(DebugNobody), Flags: Immutable,
		Doc:  "Who may use DEBUG: nobody, everybody, or clients on this machine.",
		kind: into(oneOf(DebugNobody, DebugEverybody, DebugLocal), func(s *Settings) *DebugAccess { return &s.EnableDebugCommand }),
	},
}

var memoryDirectives = []*Directive{
	{
		Name: "maxmemory", Default: "0", Flags: Replicated, Policy: Ignored,
		Why:  "memory is not limited and keys are not evicted yet",
		Doc:  "Bytes the data of a node may take; 0 is no limit.",
		kind: unread(memory(0, maxMemory)),
	},
	{
		Name: "maxmemory-policy", Default: string(EvictNothing), Flags: Replicated, Policy: Ignored,
		Why: "memory is not limited and keys are not evicted yet",
		Doc: "What goes when maxmemory is reached.",
		kind: unread(oneOf(EvictVolatileLRU, EvictVolatileLFU, EvictVolatileRandom, EvictVolatileTTL,
			EvictAllKeysLRU, EvictAllKeysLFU, EvictAllKeysRandom, EvictNothing)),
	},
	{
		Name: "notify-keyspace-events", Default: "", Flags: Replicated, Policy: Ignored,
		Why:  "keyspace events are not published yet",
		Doc:  "Keyspace events that are published, as letters.",
		kind: unread(eventClasses()),
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
		Name: "shutdown-timeout", Default: "10",
		Doc:  "Seconds that a node told to stop may take to hand over its leadership and finish what it took on.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.ShutdownTimeoutSeconds }),
	},
}
