package client

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/proto/pubsub"
	"lockstep/proto/tracking"
)

// Executor runs data commands; router.Router is one.
type Executor interface {
	// Go answers the calls of one client, and does not wait: each has Reply or Err set
	// in the end, but for those at the end of a shard's calls that it left for later
	// because the replies before them are large (cluster.Call.Answered). At least
	// one call is answered. Calls to one shard keep their order. True: that is so when
	// it returns; else done is called once, when it is. See router.Router.
	Go(ctx context.Context, calls []*cluster.Call, done func(alone bool)) (answered bool)
	// Do is Go, and waits.
	Do(ctx context.Context, calls []*cluster.Call)
	// Block runs a blocking command: it waits for one of the keys to be filled, for
	// no longer than the timeout (0: for ever) nor than ctx lasts. It calls waits, once
	// and before it returns, when the client stands among those that wait. It returns
	// false if there was nothing in time; else call has Reply or Err.
	Block(ctx context.Context, timeout time.Duration, call *cluster.Call, waits func()) bool
	Shards() int
	// Indexes are log indexes of shards that hold all that was acknowledged before
	// the call; Await waits until this node's replicas have reached some, and tells
	// whether they did before ctx ended.
	Indexes(ctx context.Context, shards []int) ([]uint64, error)
	Await(ctx context.Context, floors map[int]uint64) bool
	// ShardOfSlot is the number of the shard that owns a hash slot.
	ShardOfSlot(slot uint16) int
}

// Settings are what the floor above has set for clients. The value does not
// change; a change makes a new one.
type Settings struct {
	// RequirePass is the default user's password until it is given rules.
	RequirePass string
	// PubSubAllChannels lets new users hear all channels; ACLLogLen is the length of
	// ACL LOG; ACLFile is where users can be saved, "": nowhere.
	PubSubAllChannels bool
	ACLLogLen         int
	ACLFile           string
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
	// NormalOutput is how much may wait to be read by a client, PubSubOutput by one that
	// has subscribed to something.
	NormalOutput, PubSubOutput OutputLimit
	// ClientsBytesMax is how much all clients together may hold; 0: there is no such
	// limit (maxmemory-clients).
	ClientsBytesMax int64
	// Redirect answers MOVED for keys of shards that another node leads, instead
	// of forwarding the command.
	Redirect bool
	// Endpoint is what the CLUSTER commands name nodes by.
	Endpoint                    EndpointKind
	ServerVersion, RedisVersion string
}

// OutputLimit is how much may wait to be read by a client: HardBytes, and SoftBytes for
// no longer than SoftSec. 0: there is no such limit.
type OutputLimit struct {
	HardBytes, SoftBytes int64
	SoftSec              int
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
	// ConfigRewrite writes what was changed into the file the settings came from.
	// The error's text is Redis's.
	ConfigRewrite() error
	ResetStats()
}

// Facts are behind INFO and HELLO.
type Facts interface {
	Info(sections []string) string
	// Mode is "standalone" or "cluster".
	Mode() string
	// MemoryFull tells whether this node's memory is full and nothing can be
	// evicted.
	MemoryFull() bool
}

// Replication is behind ROLE and WAIT, and what HELLO and PSYNC tell of them.
type Replication interface {
	// Role is "master" or "slave", as this node shows itself.
	Role() string
	// Replicas are the other nodes, for ROLE: host, port, offset.
	Replicas() [][3]string
	// Offset is the replication offset that ROLE and PSYNC speak of.
	Offset() int64
	// Synced is how many other nodes hold what this node acknowledges, at least.
	Synced() int
}

// SlotOwner is a range of hash slots and who serves it; the first node leads.
type SlotOwner struct {
	First, Last int
	Nodes       []SlotNode
}

// SlotNode is a node as the CLUSTER commands tell of it.
type SlotNode struct {
	ID string
	// IP is the address that is announced; where a name is, the name. Hostname may
	// be empty.
	IP, Hostname string
	// Port is the plain one, TLSPort that under TLS; 0: there is none.
	Port, TLSPort int
	// Leads tells whether it leads the shard, or of a ClusterNode any.
	Leads bool
	// Healthy tells whether the node that answers can reach it.
	Healthy bool
	Offset  int64
}

// EndpointKind is what clients are told to name nodes by
// (cluster-preferred-endpoint-type).
type EndpointKind uint8

const (
	EndpointIP EndpointKind = iota
	EndpointHostname
	// EndpointUnknown: clients go on with the host that they have dialled.
	EndpointUnknown
)

// Endpoint is the host to dial; false: the one the client knows.
func (n *SlotNode) Endpoint(kind EndpointKind) (host string, known bool) {
	switch {
	case kind == EndpointIP:
		return n.IP, true
	case kind == EndpointUnknown:
		return "", false
	case n.Hostname == "":
		return "?", true
	}
	return n.Hostname, true
}

// PortFor is the port for clients that came by TLS, or plainly; where there is
// none the other one.
func (n *SlotNode) PortFor(secured bool) int {
	if secured && n.TLSPort != 0 || n.Port == 0 {
		return n.TLSPort
	}
	return n.Port
}

// ClusterNode is a line of CLUSTER NODES: a master, or a replica of one.
type ClusterNode struct {
	SlotNode
	BusPort int
	Myself  bool
	// Master is the id of a replica's master; empty for a master.
	Master string
	// Slots are the ranges that a master serves, first and last.
	Slots [][2]int
	Epoch uint64
}

// ClusterLink is a connection between this node and another, open since SinceMs
// in Unix time, with bytes that wait to be sent.
type ClusterLink struct {
	Node        string
	Outgoing    bool
	SinceMs     int64
	QueuedBytes int64
}

// ClusterView is behind CLUSTER.
type ClusterView interface {
	// KnowsCluster is false for a node that has just started and has not heard
	// which nodes there are.
	KnowsCluster() bool
	ClusterInfo() string
	// ClusterNodes are the lines of CLUSTER NODES.
	ClusterNodes() []ClusterNode
	// ClusterLinks are the connections of requests between this node and others.
	ClusterLinks() []ClusterLink
	SlotOwners() []SlotOwner
	// Moved is the address of the node that leads a shard, as clients are told it;
	// "" when it is this node or nobody, or if stale is set and this node has a
	// replica of the shard, or if the node has no port for clients that came as
	// this one did: by TLS or not.
	Moved(shard int, stale, secured bool) string
}

// Identity is who this node is in the cluster.
type Identity interface {
	MyID() string
	// ShardID is the id, of 40 hex digits, of the shard this node is shown in.
	ShardID() string
}

// Operator is behind LOCKSTEP.
type Operator interface {
	StatusJSON(ctx context.Context) ([]byte, error)
	// ExamineJSON asks every node for the facts of its machine.
	ExamineJSON(ctx context.Context) ([]byte, error)
	// PlacementJSON tells where replicas and leaders are and what is to be done.
	PlacementJSON(ctx context.Context) ([]byte, error)
	// Order carries out one of LOCKSTEP's orders and says what was done.
	Order(ctx context.Context, args []string) (string, error)
	LockSlots() []LockSlot
}

// Process is behind DEBUG, SAVE, BGSAVE, LASTSAVE and SHUTDOWN.
type Process interface {
	SetActiveExpire(on bool)
	// Reload writes a snapshot of every shard and loads it again.
	Reload() error
	// BeginSnapshot begins a snapshot of all that the node holds, which write then
	// writes; ErrSaving where one is being written in the background.
	BeginSnapshot(background bool) (write func() error, err error)
	LastSnapshotUnix() int64
	Shutdown()
}

// ErrSaving refuses a snapshot.
var ErrSaving = errors.New("Background save already in progress")

// LockSlot is a lock slot that is held or waited for.
type LockSlot struct {
	Shard, Slot int
	Mode        string
	Holders     int
	Readers     int
	Writers     int
	// Labels are commands that hold it, as far as they are told of, each with the script or
	// function that it runs; HeldMs is for how long the first has run, 0 where that is not known.
	// Queue are the first of those that wait; "" stands for work of the node's own.
	Labels []string
	HeldMs int64
	Queue  []string
}

// Introspection is behind MEMORY.
type Introspection interface {
	MemoryFacts() MemoryFacts
	// FreeMemory gives memory that is not needed back to the system.
	FreeMemory()
	// MallocStats is what the allocator tells of itself.
	MallocStats() string
}

// Channels is behind SUBSCRIBE and PUBLISH.
type Channels interface {
	// Hub is this node's subscriptions.
	Hub() *pubsub.Hub
	// Publish hands a message to the subscribers on all nodes; to those on this one
	// it is sent when later is kicked. What it returns
	// waits, but not for long, for their number.
	Publish(kind pubsub.Kind, channel, payload []byte, later *pubsub.Later) (receivers func() int)
}

// Feeds is behind what clients are told of keys in shards of which this node has
// no replica.
type Feeds interface {
	// AwaitChanges waits, but not for long, until this node hears of all changes.
	// Who is to be told of them begins to track, and then calls done.
	AwaitChanges() (done func())
	// AwaitEvents waits, but not for long, until this node hears of all keyspace
	// events that somebody listens for.
	AwaitEvents()
}

// Backend is all that clients need of the node.
type Backend struct {
	Executor
	Source
	ConfigStore
	Facts
	Replication
	ClusterView
	Identity
	Operator
	Backups
	Process
	Introspection
	Channels
	Feeds
	Access
	// Tracking knows who caches what (CLIENT TRACKING).
	Tracking *tracking.Table
	// Incarnation is the node's, as other nodes know it, by which the callers of
	// scripts are named; 0: they are not named.
	Incarnation uint64
	// Programs are this node's of a shard; nil: it has none.
	Programs func(shard int) *command.Programs
	// TargetTLS is TLS for a connection to another server (MIGRATE) at a host; nil,
	// or if it returns nil: there the connection is plain.
	TargetTLS func(host string) *tls.Config
}

func (b *Backend) targetTLS(host string) *tls.Config {
	if b.TargetTLS == nil {
		return nil
	}
	return b.TargetTLS(host)
}

func (b *Backend) programs(shard int) *command.Programs {
	if b.Programs == nil {
		return nil
	}
	return b.Programs(shard)
}
