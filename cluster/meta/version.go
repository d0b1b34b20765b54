package meta

import (
	"fmt"
	"strconv"
)

// The cluster version says what nodes may write: a format, an entry or a command
// that came with a version is used only when the cluster has it, which is when
// every node knows how to read it. So nodes of two programs work together
// while they are exchanged one by one, and until the version is raised the old
// program can still come back.
//
// It stands in the meta group's state and only grows. A node that is told of a
// version which it does not know ends, and refuses to start, in words.
const (
	// VersionFirst is that of clusters which say nothing of it.
	VersionFirst = 1
	// VersionOperator brings placement, drained nodes, learners, a log that shards
	// share, announced host names and the version itself.
	VersionOperator = 2
	// VersionUsers brings users, and their rules in txns.
	VersionUsers = 3
	// VersionSums brings calls in the log that name a script by its SHA1 in place of
	// its text, and scripts that draw other numbers each time.
	VersionSums = 4
	// VersionSteps brings steps of txns where none were counted before: what a txn
	// then does is another thing than it was.
	VersionSteps = 5
	// VersionScripts brings txns that say for which client a script runs, nodes that tell
	// each other what it did, and Redis's answers where scripts, and timeouts of BZPOPMIN
	// and its like, got others before.
	VersionScripts = 6
	// VersionLua brings Redis's answers of the Lua library, where they still were
	// others, and read-only scripts of transactions that may call nothing that writes
	// with other arguments.
	VersionLua = 7
	// VersionDepth brings a limit of the calls within a script that can be set, and
	// scripts whose variables and loops are Lua's, where the interpreter's were not.
	VersionDepth = 8
	// VersionPaid brings scripts that pay for what a constructor fills up, for long keys
	// and sets and for variables that many closures share, once for a walk through the
	// keyspace, and share the steps of their txn; coroutines that are resumed as Lua's; and
	// EXECs that fail where a watched key that did not exist came and lapsed.
	VersionPaid = 9
)

// known is the newest version that this program knows: VersionPaid. It is
// text for the linker, with which tests make programs of the past and of the
// future (-X lockstep/cluster/meta.known=10).
var known = "9"

// KnownVersion is the newest cluster version that this program knows.
func KnownVersion() int {
	n, err := strconv.Atoi(known)
	if err != nil || n < VersionFirst {
		panic("meta: this program was linked with the cluster version " + strconv.Quote(known))
	}
	return n
}

// Version is the cluster's.
func (v *View) Version() int { return max(v.ClusterVersion, VersionFirst) }

// CheckVersion refuses a cluster version that this program does not know, in
// words for the one who started it.
func CheckVersion(version int) error {
	if version <= KnownVersion() {
		return nil
	}
	return fmt.Errorf("%w (the cluster is at version %d, this lockstepd knows versions up to %d)", ErrVersion, version, KnownVersion())
}

// RaiseVersion lets nodes write what a newer version brings. Whoever proposes it
// has asked every node whether it knows the version.
type RaiseVersion struct {
	To int `json:"to"`
}

func (c *RaiseVersion) apply(v *View) (bool, error) {
	if !v.Created() {
		return false, ErrNotCreated
	}
	if c.To <= v.Version() {
		return false, nil
	}
	v.ClusterVersion = c.To
	return true, nil
}

// needs is the version that a command came with.
func needs(c Command) int {
	switch c := c.(type) {
	case *RaiseVersion, *SetReplicas, *PlaceReplica, *LetGo, *Dropped, *MarkDrained, *PromoteNode:
		return VersionOperator
	case *ChangeUsers:
		return VersionUsers
	case *AddNode:
		if c.Node.Learner {
			return VersionOperator
		}
	case *SetSettings:
		version := VersionFirst
		for name := range c.Set { // order does not matter: the greatest is sought
			version = max(version, settingsSince[name])
		}
		return version
	}
	return VersionFirst
}

// settingsSince are settings that nodes of earlier versions do not know.
var settingsSince = map[string]int{"script-max-call-depth": VersionDepth}

// checkNeeds refuses a command that not every node of the cluster may be able to
// read. The first raise must come before the cluster has what it brings.
func checkNeeds(v *View, c Command) error {
	raise, raises := c.(*RaiseVersion)
	switch {
	case raises && raise.To > KnownVersion():
		return ErrClusterVersion.With(fmt.Sprintf("the meta group's leader knows cluster versions up to %d, not %d", KnownVersion(), raise.To))
	case !raises && v.Created() && needs(c) > v.Version():
		return ErrClusterVersion.With(fmt.Sprintf("the cluster is at version %d and this needs version %d; "+
			"upgrade every node, then `clusterctl upgrade`", v.Version(), needs(c)))
	}
	return nil
}
