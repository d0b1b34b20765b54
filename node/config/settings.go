package config

import "lockstep/engine/command"

// ReadMode is how a leader proves that it still leads before it answers a read.
type ReadMode string

const (
	// ReadLease trusts the leader's lease. Reads do not wait, but it relies on clocks that run at
	// about the same speed.
	ReadLease ReadMode = "lease"
	// ReadQuorum asks a quorum, once for all waiting reads.
	ReadQuorum ReadMode = "quorum"
)

// Raise is when the cluster's version is raised.
type Raise string

const (
	// RaiseAuto raises it when every node knows the next one.
	RaiseAuto Raise = "auto"
	// RaiseManual raises it when an operator says so.
	RaiseManual Raise = "manual"
)

// Supervision is the supervisor that a node notifies when it is ready and when it is stopping.
type Supervision string

const (
	// SupervisedNo notifies no supervisor.
	SupervisedNo Supervision = "no"
	// SupervisedUpstart notifies none either: upstart no longer exists.
	SupervisedUpstart Supervision = "upstart"
	// SupervisedSystemd notifies systemd, if systemd started the node and asked for it.
	SupervisedSystemd Supervision = "systemd"
	// SupervisedAuto does the same, because systemd is the only supported supervisor.
	SupervisedAuto Supervision = "auto"
)

// Routing is what a node does with a command for a shard that it does not lead.
type Routing string

const (
	// RouteForward passes it on, one hop.
	RouteForward Routing = "forward"
	// RouteRedirect answers MOVED.
	RouteRedirect Routing = "redirect"
)

// ClientRole says which role a node shows in INFO, HELLO and ROLE.
type ClientRole string

const (
	// RoleAuto shows master on every node that takes writes.
	RoleAuto ClientRole = "auto"
	// RoleRaft shows what Raft says: followers are slaves.
	RoleRaft ClientRole = "raft"
	// RolePrimary shows master always.
	RolePrimary ClientRole = "primary"
)

// DebugAccess says which clients may use DEBUG.
type DebugAccess string

const (
	// DebugNobody refuses DEBUG.
	DebugNobody DebugAccess = "no"
	// DebugEverybody allows it.
	DebugEverybody DebugAccess = "yes"
	// DebugLocal allows it to clients on the loopback interface.
	DebugLocal DebugAccess = "local"
)

// ChannelsDefault is which channels a new user may use.
type ChannelsDefault string

const (
	// HearAll allows all channels.
	HearAll ChannelsDefault = "allchannels"
	// HearNothing allows none.
	HearNothing ChannelsDefault = "resetchannels"
)

// ClientAuth says whether clients must present a certificate.
type ClientAuth string

// The values of tls-auth-clients.
const (
	AuthNo       ClientAuth = "no"
	AuthYes      ClientAuth = "yes"
	AuthOptional ClientAuth = "optional"
)

// AdminSecurity is the protocol of the HTTP port.
type AdminSecurity string

const (
	// AdminPlain is HTTP.
	AdminPlain AdminSecurity = "no"
	// AdminTLS is HTTPS without client certificates.
	AdminTLS AdminSecurity = "yes"
	// AdminMutual is HTTPS that requires a client certificate.
	AdminMutual AdminSecurity = "mutual"
)

// LogStore is the engine under a Raft log.
type LogStore string

const (
	// LogStoreWAL is raft-wal.
	LogStoreWAL LogStore = "wal"
	// LogStoreBolt is raft-boltdb.
	LogStoreBolt LogStore = "boltdb"
)

// LogLevel is loglevel of redis.conf.
type LogLevel string

// The levels, from the most to the least talkative.
const (
	LogDebug   LogLevel = "debug"
	LogVerbose LogLevel = "verbose"
	LogNotice  LogLevel = "notice"
	LogWarning LogLevel = "warning"
)

// LogFormat is the format of a line of the log.
type LogFormat string

// The formats of log lines.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// EndpointType says how CLUSTER SLOTS names a node.
type EndpointType string

// The endpoint types of Redis.
const (
	EndpointIP       EndpointType = "ip"
	EndpointHostname EndpointType = "hostname"
	EndpointUnknown  EndpointType = "unknown-endpoint"
)

// EvictionPolicy is maxmemory-policy.
type EvictionPolicy string

// The eviction policies of Redis.
const (
	EvictVolatileLRU    EvictionPolicy = "volatile-lru"
	EvictVolatileLFU    EvictionPolicy = "volatile-lfu"
	EvictVolatileRandom EvictionPolicy = "volatile-random"
	EvictVolatileTTL    EvictionPolicy = "volatile-ttl"
	EvictAllKeysLRU     EvictionPolicy = "allkeys-lru"
	EvictAllKeysLFU     EvictionPolicy = "allkeys-lfu"
	EvictAllKeysRandom  EvictionPolicy = "allkeys-random"
	EvictNothing        EvictionPolicy = "noeviction"
)

// Settings are the values of all directives at one instant. A value that
// [Config.Current] returned never changes; its slices are shared and must not
// be written. The row of the table explains the field.
type Settings struct {
	// The node and its addresses.
	Port          int
	Bind          []string
	ProtectedMode bool
	PeerPort      int
	PeerAddress   string
	AdminPort     int
	AdminPprof    bool
	// ReadyLeaderGraceMs is how long a shard may have no leader on a node that is
	// ready.
	ReadyLeaderGraceMs int
	NodeName           string
	Dir                string

	// How the cluster is made.
	Bootstrap bool
	Join      []string
	// BootstrapExpect is 0 if the node founds no cluster together with others.
	BootstrapExpect int
	Replace         bool
	Rejoin          bool
	Learner         bool
	Shards          int
	Replicas        int
	// ReplicaRepairAfterMs is 0 if the replicas of dead nodes are never replaced.
	ReplicaRepairAfterMs int
	ReplicaCopiesMax     int
	Rebalance            bool
	LockSlots            int

	// Engine are the limits that replicas agree on; ProtoMaxBulkLen and
	// MaxMemoryPolicy are two more.
	Engine command.Settings
	// MaxMemoryPolicy is Engine.EvictionPolicy by name.
	MaxMemoryPolicy EvictionPolicy
	// NotifyKeyspaceEvents are the events that are published.
	NotifyKeyspaceEvents EventClasses
	LogStore             LogStore
	// LogShared means that the shards of the node write to one log.
	LogShared bool

	// Replication.
	RaftHeartbeatMs                         int
	RaftElectionMs                          int
	RaftSnapshotEntries                     int
	RaftSnapshotBytes, RaftSnapshotBytesMax int64
	RaftTrailingEntries                     int
	RaftEntryBytesMax                       int64

	// Reads, routing, waiting.
	ReadMode ReadMode
	// ClockOffsetMaxMs is how far a clock may be off.
	ClockOffsetMaxMs    int
	ClusterVersionRaise Raise
	Routing             Routing
	WriteTimeoutMs      int
	Permits             int
	OutstandingTxnsMax  int
	OutstandingBytesMax int64
	ActiveExpire        bool

	// What cluster-aware clients see.
	ClusterEnabled           bool
	ClusterAnnounceIP        string
	ClusterAnnounceHostname  string
	ClusterAnnouncePort      int
	ClusterAnnounceBusPort   int
	ClusterPreferredEndpoint EndpointType
	ClientRole               ClientRole

	// TLS.
	TLSPort, ClusterAnnounceTLSPort               int
	TLSCluster, TLSReplication, TLSSessionCaching bool
	TLSAdmin                                      AdminSecurity
	TLSCertFile, TLSKeyFile                       string
	TLSClientCertFile, TLSClientKeyFile           string
	TLSCACertFile, TLSCACertDir                   string
	TLSAuthClients                                ClientAuth
	TLSPeerName, TLSProtocols, TLSCiphers         string

	// Clients.
	MaxClients               int
	TimeoutSeconds           int
	TCPKeepaliveSeconds      int
	ProtoMaxBulkLen          int64
	ClientQueryBufferLimit   int64
	ClientOutputBufferLimits OutputLimits
	MaxMemoryClients         ClientsMemory
	// TrackingTableMaxKeys is 0 for no limit.
	TrackingTableMaxKeys int64
	RequirePass          string
	// ClusterSecret is the cluster's secret, and after a blank the previous secret.
	ClusterSecret     string
	ClusterSecretFile string
	// ACLFile is the file that users are saved to; "" is none. Users are the lines
	// "user NAME RULE..." of the configuration.
	ACLFile string
	Users   []string
	// ACLStaleAdminMs and ACLStaleMs are 0 if a node trusts its users for ever.
	ACLStaleAdminMs    int
	ACLStaleMs         int
	ACLPubSubDefault   ChannelsDefault
	ACLLogMaxLen       int64
	EnableDebugCommand DebugAccess

	// Logs, measurements, and stopping.
	LogLevel             LogLevel
	LogFile              string
	LogFormat            LogFormat
	SlowlogLogSlowerThan int64
	SlowlogMaxLen        int64
	// ScriptTimeoutMs is busy-reply-threshold.
	ScriptTimeoutMs int64
	// LatencyTracking keeps the times of commands. LatencyPercentiles are the
	// percentiles that INFO shows. LatencyThresholdMs is the time from which an event
	// is kept for LATENCY; 0 keeps none.
	LatencyTracking    bool
	LatencyPercentiles []string
	LatencyThresholdMs int64
	Supervised         Supervision
	// ShutdownDelayMs is how long a node that is stopping keeps serving.
	ShutdownDelayMs        int
	ShutdownTimeoutSeconds int

	// text is the canonical text of every row, origin where it came from; both
	// are indexed by Directive.row.
	text   []string
	origin []Origin
}
