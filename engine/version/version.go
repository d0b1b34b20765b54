// Package version says which cluster versions this program knows.
//
// The cluster version says what nodes may write. A format, an entry, a command or a meaning that a
// version introduces is used only when the cluster has that version. By then every node can read
// it. So nodes of two programs work together while nodes are upgraded one by one, and until the
// version is raised you can go back to the older program. The version is part of the meta group's
// state and only grows (package cluster/meta). A program that does not know the version does not
// run.
//
// Version 1 is the first release. docs/decisions/0010-one-version.md says what is a reason for the
// next version. A feature waits for its version in one of three places:
//
//   - The meta group's leader refuses commands and settings that the cluster's version does not have (Since).
//   - The effects of an entry on a shard's replicas, and the content of a snapshot, depend on the version in the
//     shard's log (command.Settings.Version). The leader puts the cluster's version into the log, so all replicas
//     change at one place.
//   - What a node does by itself, in its folder or towards other nodes, depends on the cluster version that the
//     node knows (Node.clusterVersion).
package version

import (
	"fmt"
	"strconv"
	"strings"
)

// First is the version of the first release.
const First = 1

// Both variables are strings so that the linker can set them, too: with -X, tests make programs of
// the past and of the future.
var (
	// newest is the newest version that this program knows.
	newest = "1"
	// brought lists the settings, and the commands of the meta group, that later versions than the
	// first introduced, as name=version,name=version.
	brought = ""
)

var (
	known = number(newest)
	since = parse(brought)
)

// Known is the newest cluster version that this program knows.
func Known() int { return known }

// Since is the version that introduced a setting or a command of the meta group. 0 means that it
// has always existed.
func Since(name string) int { return since[name] }

func parse(list string) map[string]int {
	all := map[string]int{}
	for _, one := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(one, "=")
		all[name] = number(value)
	}
	return all
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		panic(fmt.Sprintf("version: this program was linked with the cluster version %q", text))
	}
	return n
}
