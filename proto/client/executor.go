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
	// Go answers the calls of one client, and does not wait. In the end each call has Reply or Err
	// set, except calls at the end of a shard's calls that it left for later because the replies
	// before them are large (cluster.Call.Answered). At least one call is answered. Calls to one
	// shard keep their order. Go returns true if the calls are answered when it returns; else it
	// calls done once, when they are. See router.Router.
	Go(ctx context.Context, calls []*cluster.Call, done func(alone bool)) (answered bool)
	// Do is Go, but waits.
	Do(ctx context.Context, calls []*cluster.Call)
	// Block runs a blocking command: it waits for one of the keys to be filled, until the timeout
	// (0 means none) or the end of ctx. It calls waits, once and before it returns, when the client
	// is registered as waiting. It returns false if no key was filled in time; else call has Reply
	// or Err.
	Block(ctx context.Context, timeout time.Duration, call *cluster.Call, waits func()) bool
	Shards() int
	// Indexes returns, for each of the shards, a log index that covers everything
	// acknowledged before the call. Await waits until this node's replicas have
	// reached the indexes, and reports whether they did before ctx ended.
	Indexes(ctx context.Context, shards []int) ([]uint64, error)
	Await(ctx context.Context, floors map[int]uint64) bool
	// ShardOfSlot is the number of the shard that owns a hash slot.
	ShardOfSlot(slot uint16) int
}

// Settings are the node's settings for clients. The value does not change; a change
// makes a new one.
type Settings struct {
	// RequirePass is the default user's password until it is given rules.
	RequirePass string
	// PubSubAllChannels lets new users use all channels; ACLLogLen is the length of ACL LOG;
	// ACLFile is where users can be saved, or "" if there is no such file.
	PubSubAllChannels bool
	ACLLogLen         int
	ACLFile           string
	// SlowerThanUs is the time from which a command is put into the slow log: 0 puts
	// all there, a negative number none. SlowlogLen is the length of the log.
	SlowerThanUs int64
	SlowlogLen   int
	// DebugFor says who may use DEBUG: "no", "yes", "local".
	DebugFor string
	// BulkBytesMax is the longest argument, QueryBytesMax the most bytes of one
	// client's requests that are buffered.
	BulkBytesMax, QueryBytesMax int
	IdleTimeoutSec              int
	// NormalOutput bounds the waiting output of a client, PubSubOutput that of a client with
	// subscriptions.
	NormalOutput, PubSubOutput OutputLimit
	// ClientsBytesMax bounds the memory of all clients together (maxmemory-clients). 0 means no
	// limit.
	ClientsBytesMax int64
	// Redirect answers MOVED for keys of shards that another node leads, instead
	// of forwarding the command.
	Redirect bool
	// Endpoint is how the CLUSTER commands name nodes.
	Endpoint                    EndpointKind
	ServerVersion, RedisVersion string
}

// EndpointKind is how clients are told to name nodes
// (cluster-preferred-endpoint-type).
type EndpointKind uint8

const (
	EndpointIP EndpointKind = iota
	EndpointHostname
	// EndpointUnknown lets clients keep the host that they have dialled.
	EndpointUnknown
)

// OutputLimit bounds the output that waits to be read by a client: HardBytes at any time, and
// SoftBytes for no longer than SoftSec. 0 means no limit.
type OutputLimit struct {
	HardBytes, SoftBytes int64
	SoftSec              int
}

// Source returns the current settings; it is called for each batch.
type Source interface {
	Settings() *Settings
}

// Channels serves SUBSCRIBE and PUBLISH.
type Channels interface {
	// Hub holds this node's subscriptions.
	Hub() *pubsub.Hub
	// Publish delivers a message to the subscribers on all nodes. To those on this
	// node it is sent when later is kicked. receivers waits, but not for long, for
	// their number.
	Publish(kind pubsub.Kind, channel, payload []byte, later *pubsub.Later) (receivers func() int)
}

// Feeds brings news of keys in shards of which this node has no replica.
type Feeds interface {
	// AwaitChanges waits, but not for long, until this node is told about all
	// changes. The caller then starts to track, and calls done after that.
	AwaitChanges() (done func())
	// AwaitEvents waits, but not for long, until this node is told about all
	// keyspace events that have a subscriber.
	AwaitEvents()
}

// Redirector knows where other nodes are.
type Redirector interface {
	// Moved is the address of the shard's leader in the form for clients. It is "" if this node leads or no node
	// does; if stale is set and this node has a replica of the shard; and if the leader has no port of this client's
	// kind, TLS or plain.
	Moved(shard int, stale, secured bool) string
}

// Greeter gives the node's fields of the reply to HELLO.
type Greeter interface {
	// Mode is "standalone" or "cluster".
	Mode() string
	// Role is "master" or "slave", as this node shows itself.
	Role() string
}

// Memory gives the state of the node's memory.
type Memory interface {
	// MemoryFull reports whether this node's memory is full and nothing can be evicted.
	MemoryFull() bool
}

// Backend is everything that clients need from the node.
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
	// Tracking records which client caches which keys (CLIENT TRACKING).
	Tracking *tracking.Table
	// Incarnation is the node's, as other nodes know it. Scripts' callers are identified by it. If it is 0 the
	// callers are not identified.
	Incarnation uint64
	// Programs are the programs of this node's replica of a shard, or nil if it has
	// none.
	Programs func(shard int) *command.Programs
	// TargetTLS returns the TLS configuration for a connection to another server (MIGRATE) at a host. If TargetTLS is
	// nil, or returns nil, that connection is plain.
	TargetTLS func(host string) *tls.Config
}

func (b *Backend) targetTLS(host string) *tls.Config {
	if b.TargetTLS == nil {
		return nil
	}
	return b.TargetTLS(host)
}

// mustLog reports whether a call must enter the log.
func (b *Backend) mustLog(spec *command.Spec, args [][]byte) bool {
	return spec.MustLog(args, b.Shards(), b.programs)
}

func (b *Backend) programs(shard int) *command.Programs {
	if b.Programs == nil {
		return nil
	}
	return b.Programs(shard)
}
