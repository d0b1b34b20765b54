// Package admin answers the commands that look at a node and look after it: CLIENT, CLUSTER, COMMAND, CONFIG, ACL,
// INFO, LATENCY, MEMORY, SLOWLOG, DEBUG, LOCKSTEP and the like. Commands that run for the client itself, transactions
// for instance, are in package client.
//
// Each file holds one container's handlers, and each asks the node for no more than one of the interfaces in this file
// names. A handler reaches its client by a client.Request. The rows of the commands are in the one command table;
// client.NewTable gives each row its handler, and ends the process at its start if one is missing.
package admin

import (
	"context"
	"errors"
	"io"

	"lockstep/proto/client"
	"lockstep/proto/pubsub"
	"lockstep/proto/stats"
)

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

// Facts is behind INFO.
type Facts interface {
	Info(sections []string) string
	// Mode is "standalone" or "cluster".
	Mode() string
}

// Replication is behind ROLE and WAIT, and what PSYNC reports on them.
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

// Backups is behind LOCKSTEP BACKUP, SYNC and PSYNC.
type Backups interface {
	// BackupBegin cuts all shards.
	BackupBegin(ctx context.Context) (*Backup, error)
	// BackupNext is the next piece of a part's file, empty behind its end, and how
	// many keys have been written.
	BackupNext(ctx context.Context, node string, id uint64) (piece []byte, keys int64, err error)
	// BackupEnd gives a part up.
	BackupEnd(ctx context.Context, node string, id uint64) error
	// BackupDone notes that a backup that was begun at some time, in Unix
	// milliseconds, has been written and read back.
	BackupDone(ctx context.Context, beganMs int64) error
	// BackupStream writes the files of all parts as one, and gives the parts up.
	BackupStream(ctx context.Context, b *Backup, w io.Writer) error
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

// Memory is behind MEMORY.
type Memory interface {
	MemoryFacts() MemoryFacts
	// FreeMemory gives memory that is not needed back to the system.
	FreeMemory()
	// MallocStats is what the allocator reports on itself.
	MallocStats() string
}

// Subscriptions is behind PUBSUB.
type Subscriptions interface {
	// Hub is this node's subscriptions.
	Hub() *pubsub.Hub
}

// Node is all that the handlers ask the node for.
type Node struct {
	Config        ConfigStore
	Facts         Facts
	Replication   Replication
	Cluster       ClusterView
	Identity      Identity
	Operator      Operator
	Backups       Backups
	Process       Process
	Memory        Memory
	Subscriptions Subscriptions
	Stats         *stats.Stats
	Registry      *client.Registry
}

// Handlers are those of this package, for client.NewTable.
func (n *Node) Handlers() []client.Handlers {
	clusters := clusterCommands{n.Cluster, n.Identity, n.Facts}
	operators := operatorCommands{n.Operator, n.Backups}
	config := configCommands{n.Config, n.Stats}
	memory := memoryCommands{n.Memory, n.Registry}
	copies := copyCommands{n.Backups, n.Replication}
	node := nodeCommands{n.Facts, n.Replication, n.Process}
	return []client.Handlers{
		(&clients{n.Registry}).handlers(), clusters.handlers(), operators.handlers(), config.handlers(),
		(&userCommands{n.Stats}).handlers(), (&slowlogCommands{&n.Stats.Slowlog}).handlers(),
		(&latencyCommands{n.Stats}).handlers(), memory.handlers(), copies.handlers(), node.handlers(),
		(&channelCommands{n.Subscriptions}).handlers(), (&debugCommands{n.Process}).handlers(),
		commandHandlers, scriptHandlers, libraryHandlers, moduleHandlers,
	}
}
