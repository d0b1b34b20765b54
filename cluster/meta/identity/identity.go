// Package identity keeps the identity of a node in its data folder: the cluster's id, the node's
// name and incarnation, and the number of its last start.
//
// The incarnation is drawn at random when the folder is first used, and exists only there. A node
// that lost its folder has lost what it promised by votes and acknowledgements, so it must never
// answer under its old id again; with a new incarnation it cannot.
//
// Invariants:
//   - One process uses a folder: it holds the lock on the file LOCK, which the
//     system frees when the process ends, however it ends.
//   - identity.json is whole or absent: it is written under another name, synced,
//     renamed, and its folder synced.
//   - The number of a start is on disk before any other part of the program sees
//     it, and is not below the time, so no two starts share one.
//   - Raft's data is never opened without the identity it was made under, and a
//     group that was once opened is never opened empty: both would let the node
//     vote twice. A group that was dropped in good order may come again, empty,
//     and keeps what the former replica has promised.
package identity

import (
	"encoding/json"
	"fmt"

	"lockstep/cluster/meta"
)

// formatVersion is the format of identity.json. It is raised when the file has new content that an
// older program must not ignore.
const formatVersion = 1

// Phase is the stage of the node's membership.
type Phase string

const (
	// Founding: the node creates its cluster. Some of its groups may not exist yet.
	Founding Phase = "founding"
	// Joining: the node asks, or is about to ask, a cluster to take it in.
	Joining Phase = "joining"
	// Settled: the node belongs to its cluster.
	Settled Phase = "settled"
	// Removed: the cluster has removed the node for good.
	Removed Phase = "removed"
)

// Identity is the identity of a node.
type Identity struct {
	Format int `json:"format"`
	// ClusterID is empty while the node is joining.
	ClusterID   string `json:"cluster_id"`
	Name        string `json:"name"`
	Incarnation uint64 `json:"incarnation,string"`
	// Boot is the number of the node's last start; it grows.
	Boot  uint64 `json:"boot"`
	Phase Phase  `json:"phase"`
	// Architecture is the kind of processor (Processor) on which the data was made.
	Architecture string `json:"architecture"`
	// LogStore is the kind of log store of all groups (raftio), including groups that come later.
	LogStore string `json:"log_store"`
	// Why says why the node was removed.
	Why string `json:"why,omitempty"`
	// Creation is the cluster's; it is nil while the node is joining. A founder needs it again if
	// it dies before the meta group has it. Every node needs it to open its groups.
	Creation *meta.Creation `json:"creation,omitempty"`
	// ClusterVersion is the newest cluster version that this node has seen.
	ClusterVersion int `json:"cluster_version"`
	// Promised is the name of the node to which this joining node has granted the right to found
	// the cluster. Expect is how many nodes it expected when it last looked for them.
	Promised string `json:"promised,omitempty"`
	Expect   int    `json:"bootstrap_expect,omitempty"`
	// Awaited is how many nodes a founder's cluster is to have, until most of them vote. It is 0 if
	// the node waits for none, or no longer does.
	Awaited int `json:"awaited_nodes,omitempty"`
	// Lost are nodes that were given up with all their data when this node's groups were recovered.
	// This node must never accept anything from them again.
	Lost []meta.NodeID `json:"lost,omitempty"`
	// Recovering is true while a recovery has begun and has not finished. The folder must not be
	// used until then.
	Recovering bool `json:"recovering,omitempty"`
	// Groups are the Raft groups that have data here.
	Groups []uint32 `json:"groups,omitempty"`
	// Dropping are groups whose data is being deleted.
	Dropping []uint32 `json:"dropping,omitempty"`
	// Dropped is, by group, the newest going of the node (meta.Going.Since) for which its data was
	// deleted. An older view may order the same deletion again when the node has newer data.
	Dropped map[uint32]uint64 `json:"dropped,omitempty"`
	// Pledges are, by group, the promises of replicas whose data was deleted. The group may get
	// another replica here, which has the same id.
	Pledges map[uint32]Pledge `json:"pledges,omitempty"`
}

// Pledge is what a replica has promised by votes and acknowledgements: the newest term
// it voted in, and the term and index of its last entry (package raftio).
type Pledge struct {
	Voted     uint64 `json:"voted"`
	LastTerm  uint64 `json:"last_term"`
	LastIndex uint64 `json:"last_index"`
}

// ID is the node's id.
func (id *Identity) ID() meta.NodeID { return meta.MakeNodeID(id.Name, id.Incarnation) }

// parse reads identity.json.
func parse(path string, b []byte) (*Identity, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("%s is damaged (%v); restore it from a backup, or move the data folder away and join the node anew", path, err)
	}
	if version.Format > formatVersion {
		return nil, fmt.Errorf("%s was written by a newer version of lockstep (format %d, this one reads format %d); "+
			"start that version, or move the data folder away and join the node anew", path, version.Format, formatVersion)
	}
	var id Identity
	if err := json.Unmarshal(b, &id); err != nil {
		return nil, fmt.Errorf("%s is damaged (%v); restore it from a backup, or move the data folder away and join the node anew", path, err)
	}
	if err := id.check(); err != nil {
		return nil, fmt.Errorf("%s makes no sense: %w", path, err)
	}
	return &id, nil
}

func (id *Identity) check() error {
	if id.Format != formatVersion {
		return fmt.Errorf("format %d", id.Format)
	}
	if err := meta.ValidateName(id.Name); err != nil {
		return err
	}
	if id.Incarnation == 0 {
		return fmt.Errorf("no incarnation")
	}
	switch id.Phase {
	case Joining, Removed:
		return nil
	case Founding, Settled:
	default:
		return fmt.Errorf("unknown phase %q", id.Phase)
	}
	if id.ClusterID == "" || id.Creation == nil {
		return fmt.Errorf("no cluster")
	}
	return id.Creation.Validate()
}
