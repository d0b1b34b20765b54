package node

import (
	"context"
	"fmt"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
)

// Who founds a cluster of N nodes (bootstrap-expect) is its only voter until the
// others have caught up. What it acknowledged meanwhile would be on its disk alone,
// and users were promised that it is on most. So each group takes no writes until it
// has as many voters as most of the awaited nodes are: clients wait as in an election.
// When all groups have, that is noted in the folder, and is no matter any more: a
// cluster may become smaller later.

// awaitEvery is how often a founder looks whether enough nodes vote, and awaitSayEvery
// how often it says that they do not.
const (
	awaitEvery    = 50 * time.Millisecond
	awaitSayEvery = 30 * time.Second
)

// awaits is how many nodes the cluster must come to have; 0: there is nothing to await.
// Who starts a founder again with a smaller number does not want the others any more.
func (n *Node) awaits() int {
	nodes := n.folder.Identity().Awaited
	if now := n.cfg.Current().BootstrapExpect; now > 0 {
		nodes = min(nodes, now)
	}
	return nodes
}

// votersLeast is how many voters a group must have to take writes on.
func (n *Node) votersLeast(group uint32) int {
	nodes := int(n.awaited.Load())
	if nodes == 0 {
		return 0
	}
	most := membership.MetaVotersMax
	if group != meta.GroupID {
		most = n.self.Creation.Replicas
		if v := n.machine.View(); v.Created() {
			most = v.Replicas
		}
	}
	if most > 0 { // else there is a replica on every node
		nodes = min(nodes, most)
	}
	return nodes/2 + 1
}

// short says of which group too few nodes vote to take writes on; nil: of none.
func (n *Node) short() error {
	if n.awaited.Load() == 0 {
		return nil
	}
	if n.metaGroup.Short() {
		return n.tooFew("the meta group", meta.GroupID, n.metaGroup.Voters())
	}
	for _, s := range n.shards() {
		if s.Group().Short() {
			return n.tooFew(fmt.Sprintf("shard %d", s.ID()), s.ID(), s.Group().Voters())
		}
	}
	return nil
}

func (n *Node) tooFew(what string, group uint32, voters int) error {
	return fmt.Errorf("%s takes no writes: %d of %d voters are there, of %d nodes that are expected",
		what, voters, n.votersLeast(group), n.awaited.Load())
}

// awaitOthers returns when enough nodes vote in all groups, and notes that they do.
func (n *Node) awaitOthers() {
	t := time.NewTicker(awaitEvery)
	defer t.Stop()
	var said time.Time
	for {
		why := n.short()
		if why == nil {
			if err := n.folder.Met(); err != nil {
				n.die(err)
				return
			}
			n.awaited.Store(0)
			n.log.Info("enough of the expected nodes vote: writes are taken")
			return
		}
		if time.Since(said) >= awaitSayEvery {
			said = time.Now()
			n.log.Info("clients that write wait for the others; started with a smaller bootstrap-expect, this node awaits fewer", "reason", why)
		}
		select {
		case <-t.C:
		case <-n.ctx.Done():
			return
		}
	}
}

// awaitVoters begins to await the other nodes, where this one founds a cluster.
func (n *Node) awaitVoters(context.Context) error {
	if n.awaited.Load() > 0 {
		n.background.run(n.awaitOthers)
	}
	return nil
}

// checkFounded keeps a founder from clients as long as it takes no writes.
func (n *Node) checkFounded() error {
	if err := n.short(); err != nil {
		return fmt.Errorf("awaits other nodes: %w", err)
	}
	return nil
}
