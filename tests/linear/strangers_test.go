package linear

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/stranger"
)

// crowdMax is the maximum number of simultaneous strangers. It is more than the port accepts.
const crowdMax = 300

// strangers connect to the peer port of a node, and stay as long as possible. They send nothing, or
// noise, or half a handshake, or prove a secret that is not the cluster's.
func (n *nemesis) strangers(from, to time.Duration) {
	node, count := n.node(), 1+n.r.IntN(crowdMax)
	words := stranger.Words(proc.Info(n.leader.Addr(), "server")["cluster_id"])
	kinds := slices.Sorted(maps.Keys(words))
	kind := kinds[n.r.IntN(len(kinds))]
	crowd := &stranger.Crowd{}
	n.at(from, fmt.Sprintf("%d strangers come to %s: %s", count, node.Name, kind), func() {
		_ = crowd.Come(count, node.PeerAddr(), words[kind]) // the node may not run
	})
	n.at(to, "they leave "+node.Name, crowd.Leave)
}
