// Package admin answers the commands that inspect and administer a node: CLIENT, CLUSTER, COMMAND, CONFIG, ACL, INFO,
// LATENCY, MEMORY, SLOWLOG, DEBUG, LOCKSTEP and the like. Commands that run for the client itself, such as
// transactions, are in package client.
//
// Each file holds one container's handlers, and uses at most one of the interfaces in this file. A handler reaches
// its client through a client.Request. The rows of the commands are in the one command table; client.NewTable gives
// each row its handler, and ends the process at its start if one is missing.
package admin

import (
	"context"
	"errors"
	"io"

	"lockstep/proto/client"
	"lockstep/proto/pubsub"
	"lockstep/proto/stats"
)

// ConfigStore serves CONFIG.
type ConfigStore interface {
	// ConfigGet returns the settings whose names match one of the patterns, each
	// once, by name.
	ConfigGet(patterns []string) [][2]string
	// ConfigSet changes settings, all or none. The error's text is Redis's.
	ConfigSet(pairs [][2]string) error
	// ConfigRewrite writes changed settings into the file the settings came from.
	// The error's text is Redis's.
	ConfigRewrite() error
	ResetStats()
}

// Facts serves INFO.
type Facts interface {
	Info(sections []string) string
	// Mode is "standalone" or "cluster".
	Mode() string
}

// Replication serves ROLE and WAIT, and the offset that PSYNC reports.
type Replication interface {
	// Role is "master" or "slave", as this node shows itself.
	Role() string
	// Replicas are the other nodes, for ROLE: host, port, offset.
	Replicas() [][3]string
	// Offset is the replication offset in ROLE and PSYNC.
	Offset() int64
	// Synced is the least number of other nodes that hold every write this node
	// acknowledges.
	Synced() int
}

// ClusterView serves CLUSTER.
type ClusterView interface {
	// KnowsCluster is false for a node that has just started and does not know the
	// other nodes yet.
	KnowsCluster() bool
	ClusterInfo() string
	// ClusterNodes are the lines of CLUSTER NODES.
	ClusterNodes() []ClusterNode
	// ClusterLinks are the connections for requests between this node and others.
	ClusterLinks() []ClusterLink
	SlotOwners() []SlotOwner
}

// Identity is the identity of this node in the cluster.
type Identity interface {
	MyID() string
	// ShardID is the id, of 40 hex digits, of the shard that this node is listed
	// in.
	ShardID() string
}

// Operator serves LOCKSTEP.
type Operator interface {
	StatusJSON(ctx context.Context) ([]byte, error)
	// ExamineJSON collects the facts about every node's machine.
	ExamineJSON(ctx context.Context) ([]byte, error)
	// PlacementJSON reports where replicas and leaders are, and which changes are
	// planned.
	PlacementJSON(ctx context.Context) ([]byte, error)
	// Order carries out one of LOCKSTEP's orders and says what was done.
	Order(ctx context.Context, args []string) (string, error)
	LockSlots() []LockSlot
}

// Backups serves LOCKSTEP BACKUP, SYNC and PSYNC.
type Backups interface {
	// BackupBegin cuts all shards.
	BackupBegin(ctx context.Context) (*Backup, error)
	// BackupNext is the next piece of a part's file, empty at its end, and how many
	// keys have been written so far.
	BackupNext(ctx context.Context, node string, id uint64) (piece []byte, keys int64, err error)
	// BackupEnd releases a part.
	BackupEnd(ctx context.Context, node string, id uint64) error
	// BackupDone records that a backup which started at a time, in Unix
	// milliseconds, has been written and read back.
	BackupDone(ctx context.Context, beganMs int64) error
	// BackupStream writes the files of all parts as one, and releases the parts.
	BackupStream(ctx context.Context, b *Backup, w io.Writer) error
}

// Process serves DEBUG, SAVE, BGSAVE, LASTSAVE and SHUTDOWN.
type Process interface {
	SetActiveExpire(on bool)
	// Reload writes a snapshot of every shard and loads it again.
	Reload() error
	// BeginSnapshot starts a snapshot of everything the node holds, and write then
	// writes it. It fails with ErrSaving while a snapshot is being written in the
	// background.
	BeginSnapshot(background bool) (write func() error, err error)
	LastSnapshotUnix() int64
	Shutdown()
}

// ErrSaving means that a snapshot is already being written in the background.
var ErrSaving = errors.New("Background save already in progress")

// Memory serves MEMORY.
type Memory interface {
	MemoryFacts() MemoryFacts
	// FreeMemory returns unused memory to the system.
	FreeMemory()
	// MallocStats is the allocator's report about itself.
	MallocStats() string
}

// Subscriptions serves PUBSUB.
type Subscriptions interface {
	// Hub holds this node's subscriptions.
	Hub() *pubsub.Hub
}

// Node is everything that the handlers need from the node.
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
