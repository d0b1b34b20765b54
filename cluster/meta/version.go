package meta

import (
	"fmt"

	"lockstep/engine/version"
)

// known is the newest cluster version that this program knows (package version, which
// says what a cluster version is). Tests change it.
var known = version.Known()

// KnownVersion is the newest cluster version that this program knows.
func KnownVersion() int { return known }

// CheckVersion refuses a cluster version that this program does not know. The error is written for
// the person who started it.
func CheckVersion(version int) error {
	if version <= KnownVersion() {
		return nil
	}
	return fmt.Errorf("%w (the cluster is at version %d, this lockstepd knows versions up to %d)", ErrVersion, version, KnownVersion())
}

// RaiseVersion allows nodes to write what a newer version introduced. Its proposer has asked every
// node whether it knows the version.
type RaiseVersion struct {
	To int `json:"to"`
}

func (c *RaiseVersion) apply(v *View) (bool, error) {
	if !v.Created() {
		return false, ErrNotCreated
	}
	if c.To <= v.ClusterVersion {
		return false, nil
	}
	v.ClusterVersion = c.To
	return true, nil
}

// cameWith returns the version that introduced a command, or a setting. Tests change it.
var cameWith = version.Since

func needs(c Command) int {
	kind, _ := kindOf(c)
	needed := cameWith(kind)
	if set, ok := c.(*SetSettings); ok {
		for name := range set.Set { // order does not matter: the greatest is sought
			needed = max(needed, cameWith(name))
		}
	}
	return needed
}

// checkNeeds refuses a command that some node of the cluster may not be able to read. The version
// must be raised before the cluster uses what the version introduced.
func checkNeeds(v *View, c Command) error {
	raise, raises := c.(*RaiseVersion)
	switch {
	case raises && raise.To > KnownVersion():
		return ErrClusterVersion.With(fmt.Sprintf("the meta group's leader knows cluster versions up to %d, not %d", KnownVersion(), raise.To))
	case !raises && v.Created() && needs(c) > v.ClusterVersion:
		return ErrClusterVersion.With(fmt.Sprintf("the cluster is at version %d and this needs version %d; "+
			"upgrade every node, then `clusterctl upgrade`", v.ClusterVersion, needs(c)))
	}
	return nil
}
