package node

import (
	"context"
	"time"

	"lockstep/cluster/leaders"
	"lockstep/cluster/stepper"
)

// openLeaders starts to track the leader of each shard.
func (n *Node) openLeaders() {
	n.Leaders = leaders.NewTable(n.ShardCount())
	n.Leaders.OnNews(n.survey.SeeLeader)
	n.exchange = &leaders.Exchange{Stepper: stepper.New(), Table: n.Leaders, Peers: n.Transport, Addrs: n.PeerAddrs, Heard: n.HeardLeader, May: n.MayLead}
	n.exchange.Look()
}

// knowWait is how long a starting node waits to learn the state of the cluster before it accepts
// clients. After that it accepts them even without a quorum.
const knowWait = 3 * time.Second

// awaitLeaders waits until this node can tell clients where every hash slot is, and the cluster's
// settings are in force here. Many clients ask for the slots again only after an error, so a node
// that answered too early would mislead the first clients after its start.
func (n *Node) awaitLeaders(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(knowWait); time.Now().Before(deadline) && !(n.KnowsLeaders() && n.settings.knowsSettings()); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
