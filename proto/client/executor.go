package client

import (
	"context"

	"lockstep/cluster"
)

// Executor runs data commands; router.Router is one.
type Executor interface {
	// Do answers the calls of one client: each has Reply or Err set when it
	// returns, but for reads at the end of a shard's calls that it left for later
	// because the replies before them are large (cluster.Call.Answered). At least
	// one call is answered. Calls to one shard keep their order.
	Do(ctx context.Context, calls []*cluster.Call)
	Shards() int
}

// Settings are what the floor above has set for clients. The value does not
// change; a change makes a new one.
type Settings struct {
	RequirePass string
	// SlowerThanUs is the time from which a command is put into the slow log; 0:
	// all, negative: none. SlowlogLen is the length of the log.
	SlowerThanUs int64
	SlowlogLen   int
	// DebugFor tells who may use DEBUG: "no", "yes", "local".
	DebugFor string
	// BulkBytesMax is the longest argument, QueryBytesMax what may be buffered of
	// one client's requests.
	BulkBytesMax, QueryBytesMax int
	IdleTimeoutSec              int
	// OutputBytesMax is how much may wait to be read by a client, and
	// OutputSoftBytesMax how much for longer than OutputSoftSec; 0: the default.
	OutputBytesMax, OutputSoftBytesMax, OutputSoftSec int
	// Redirect answers MOVED for keys of shards that another node leads.
	Redirect                    bool
	ServerVersion, RedisVersion string
}

// Source tells the settings of the moment; it is asked for each batch.
type Source interface {
	Settings() *Settings
}

// ConfigStore is behind CONFIG.
type ConfigStore interface {
	// ConfigGet returns the settings whose names match one of the patterns, each
	// once, by name.
	ConfigGet(patterns []string) [][2]string
	// ConfigSet changes settings, all or none. The error's text is Redis's.
	ConfigSet(pairs [][2]string) error
	ResetStats()
}

// Facts are behind INFO, ROLE, HELLO and WAIT.
type Facts interface {
	Info(sections []string) string
	// Role is "master" or "slave", as this node shows itself.
	Role() string
	// Mode is "standalone" or "cluster".
	Mode() string
	// Replicas are the other nodes, for ROLE: host, port, offset.
	Replicas() [][3]string
	// Offset is the replication offset ROLE and WAIT speak of.
	Offset() int64
	// Synced is how many other nodes hold what this node acknowledges, at least.
	Synced() int
}

// SlotOwner is a range of hash slots and who serves it; the first node leads.
type SlotOwner struct {
	First, Last int
	Nodes       []SlotNode
}

// SlotNode is a node as CLUSTER SLOTS and SHARDS tell of it.
type SlotNode struct {
	ID, Host, IP string
	Port         int
	Leads        bool
	Healthy      bool
	Offset       int64
}

// ClusterView is behind CLUSTER.
type ClusterView interface {
	ClusterInfo() string
	ClusterNodes() string
	SlotOwners() []SlotOwner
	MyID() string
	// Moved is the address of the node that leads a hash slot's shard, "" when
	// it is this node or nobody.
	Moved(slot int) string
}

// Operator is behind LOCKSTEP, DEBUG, BGSAVE and SHUTDOWN.
type Operator interface {
	StatusJSON(ctx context.Context) ([]byte, error)
	// Order carries out TRANSFER, REMOVE, LEAVE or SNAPSHOT and says what was done.
	Order(ctx context.Context, args []string) (string, error)
	LockSlots() []LockSlot
	SetActiveExpire(on bool)
	// Reload writes a snapshot of every shard and loads it again.
	Reload(ctx context.Context) error
	Snapshot() error
	LastSnapshotUnix() int64
	Shutdown()
}

// LockSlot is a lock slot that is held or waited for.
type LockSlot struct {
	Shard, Slot int
	Mode        string
	Holders     int
	Readers     int
	Writers     int
	Labels      []string
}

// Backend is all that clients need of the node.
type Backend struct {
	Executor
	Source
	ConfigStore
	Facts
	ClusterView
	Operator
}
