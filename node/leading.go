package node

import (
	"context"
	"time"

	"lockstep/cluster/leaders"
	"lockstep/cluster/stepper"
)

// openLeaders begins to know who leads each shard.
func (n *Node) openLeaders() {
	n.Leaders = leaders.NewTable(n.ShardCount())
	n.Leaders.OnNews(n.survey.SeeLeader)
	n.exchange = &leaders.Exchange{Stepper: stepper.New(), Table: n.Leaders, Peers: n.Transport, Addrs: n.PeerAddrs, Heard: n.HeardLeader, May: n.MayLead}
	n.exchange.Look()
}

// knowWait is how long a node that starts waits until it knows the cluster before
// it takes clients. One that has no quorum takes them all the same.
const knowWait = 3 * time.Second

// awaitLeaders waits until this node can tell clients where every hash slot is, and
// goes by the cluster's settings.
// One that told them less would lead astray those that ask it first after its
// start, for many clients ask again only when something has failed.
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
