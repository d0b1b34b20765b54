// Package identity keeps who a node is, in its data folder: the cluster's id,
// the node's name and incarnation, and how often it was started.
//
// The incarnation is drawn when the folder is first used and lives and dies
// with it. A node that lost its folder has lost what it promised by vote and
// acknowledgement, so it must never answer under its old id again; with a new
// incarnation it cannot.
//
// Invariants:
//   - One process uses a folder: it holds the lock on the file LOCK, which the
//     system frees when the process ends, however it ends.
//   - identity.json is whole or absent: it is written beside itself, synced,
//     renamed, and its folder synced.
//   - The boot counter is on disk before anybody sees it, so no two starts share
//     one.
//   - Raft's data is never opened without the identity it was made under, and a
//     group that was once opened is never opened empty: both would let the node
//     vote twice.
package identity

import (
	"encoding/json"
	"fmt"

	"lockstep/cluster/meta"
)

// formatVersion is that of identity.json.
const formatVersion = 1

// Phase is how far the folder's node has come.
type Phase string

const (
	// Founding: it creates its cluster. Its groups may not all be there yet.
	Founding Phase = "founding"
	// Joining: it has asked, or is about to ask, a cluster to take it in.
	Joining Phase = "joining"
	// Settled: it belongs to its cluster.
	Settled Phase = "settled"
	// Removed: its cluster has let go of it, for good.
	Removed Phase = "removed"
)

// Identity is who a node is.
type Identity struct {
	Format int `json:"format"`
	// ClusterID is empty while the node is joining.
	ClusterID   string `json:"cluster_id"`
	Name        string `json:"name"`
	Incarnation uint64 `json:"incarnation,string"`
	// Boot counts the starts of the node; the first is 1.
	Boot  uint64 `json:"boot"`
	Phase Phase  `json:"phase"`
	// Why says why the node was removed.
	Why string `json:"why,omitempty"`
	// Creation is the cluster's, known unless the node is joining. A founder
	// needs it again when it dies before the meta group has it; all need it to
	// open their groups.
	Creation *meta.Creation `json:"creation,omitempty"`
	// Groups are the Raft groups that were opened here once.
	Groups []uint32 `json:"groups,omitempty"`
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
		return nil, fmt.Errorf("%s was written by a newer version of lockstep (format %d, this one reads up to %d); "+
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
