package meta

import (
	"errors"

	"lockstep/cluster/meta/leaderrpc"
)

// Refusal is a final negative answer to a command; see leaderrpc.Refusal.
type Refusal = leaderrpc.Refusal

// These are the reasons why a command is refused. A client gets a refusal with the same code and
// with words for its case.
var (
	ErrNotCreated     = &Refusal{Code: "not-created", Text: "the cluster has not been created yet"}
	ErrOtherCluster   = &Refusal{Code: "other-cluster", Text: "this is another cluster"}
	ErrNameTaken      = &Refusal{Code: "name-taken", Text: "another node has this name"}
	ErrAddrTaken      = &Refusal{Code: "address-taken", Text: "another node has this peer address"}
	ErrRemoved        = &Refusal{Code: "removed", Text: "this node was removed from the cluster"}
	ErrUnknownNode    = &Refusal{Code: "unknown-node", Text: "no such node"}
	ErrLastNode       = &Refusal{Code: "last-node", Text: "the last node of a cluster cannot be removed"}
	ErrTooMany        = &Refusal{Code: "too-many", Text: "the meta group is full"}
	ErrClusterVersion = &Refusal{Code: "cluster-version", Text: "the cluster's version is too old for this"}
	ErrInvalid        = &Refusal{Code: "invalid", Text: "the command makes no sense"}
	ErrStale          = &Refusal{Code: "stale", Text: "the state has changed since this was decided"}
	ErrNotPlaced      = &Refusal{Code: "not-placed", Text: "every node of this cluster has every shard; set the number of replicas first"}
)

// These errors stop a node: its log or snapshot is damaged, or a newer version wrote it.
var (
	ErrCorrupt = errors.New("meta: corrupt data")
	ErrVersion = errors.New("meta: written by a newer version of lockstep; this node must be upgraded before it can go on")
)
