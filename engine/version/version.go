// Package version says which cluster versions this program knows.
//
// The cluster version says what nodes may write. A format, an entry, a command or a
// meaning that came with a version is used only when the cluster has that version,
// which is when every node knows how to read it. So nodes of two programs work
// together while nodes are upgraded one by one, and until the version is raised you
// can go back to the older program. The version stands in the meta group's state and only
// grows (package cluster/meta). A program that does not know it does not run.
//
// Version 1 is what the first release does. docs/decisions/0010-one-version.md says
// what is a reason for the next one. There are three places where a feature waits for
// its version:
//
//   - The meta group's leader refuses commands and settings that the cluster's version
//     does not have (Since).
//   - What a shard's replicas do with an entry, or write into a snapshot, depends on the
//     version that its log says (command.Settings.Version): the leader brings the
//     cluster's into the log, so all replicas change at one place.
//   - What a node does by itself, to its folder or towards other nodes, depends on what
//     it knows of the cluster (Node.clusterVersion).
package version

import (
	"fmt"
	"strconv"
	"strings"
)

// First is the version of the first release.
const First = 1

// Both are texts for the linker, too: with -X tests make programs of the past and of
// the future.
var (
	// newest is the newest version that this program knows.
	newest = "1"
	// brought lists what came with later versions than the first: settings, and commands
	// of the meta group, as name=version,name=version.
	brought = ""
)

var (
	known = number(newest)
	since = parse(brought)
)

// Known is the newest cluster version that this program knows.
func Known() int { return known }

// Since is the version that a setting, or a command of the meta group, came with; 0:
// it has always been there.
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
