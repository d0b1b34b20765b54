package client

import (
	"context"
	"crypto/tls"
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

// EndpointKind is what clients are told to name nodes by
// (cluster-preferred-endpoint-type).
type EndpointKind uint8

const (
	EndpointIP EndpointKind = iota
	EndpointHostname
	// EndpointUnknown: clients go on with the host that they have dialled.
	EndpointUnknown
)

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

// Redirector knows where other nodes are.
type Redirector interface {
	// Moved is the address of the node that leads a shard, as clients are told it; "" when it is this node or no node, or
	// if stale is set and this node has a replica of the shard, or if the node has no port for clients that came as this
	// one did: by TLS or not.
	Moved(shard int, stale, secured bool) string
}

// Greeter is what HELLO tells of the node.
type Greeter interface {
	// Mode is "standalone" or "cluster".
	Mode() string
	// Role is "master" or "slave", as this node shows itself.
	Role() string
}

// Memory is what clients ask of the node's memory.
type Memory interface {
	// MemoryFull tells whether this node's memory is full and nothing can be evicted.
	MemoryFull() bool
}

// Backend is all that clients need of the node.
type Backend struct {
	Executor
	Source
	Access
	Redirector Redirector
	Greeter    Greeter
	Memory     Memory
	Channels   Channels
	Feeds      Feeds
	// Handlers are those of all commands that need no data.
	Handlers Table
	// Tracking knows which client caches what (CLIENT TRACKING).
	Tracking *tracking.Table
	// Incarnation is the node's, as other nodes know it, by which the callers of scripts are named; 0: they are not named.
	Incarnation uint64
	// Programs are this node's of a shard; nil: it has none.
	Programs func(shard int) *command.Programs
	// TargetTLS is TLS for a connection to another server (MIGRATE) at a host; nil, or if it returns nil: that connection
	// is plain.
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
