package node

import (
	"context"
	"time"

	"lockstep/node/member"
)

// A node that founds a cluster of N nodes (bootstrap-expect) is its only voter until the others
// have caught up. Writes that it acknowledged meanwhile would be on its disk alone, but users were
// promised that they are on a majority. So each group takes no writes until its voters are a
// majority of the awaited nodes; clients wait as in an election. When all groups have that many,
// the folder records it, and the check never runs again: a cluster may become smaller later.

// awaitEvery is how often a founder checks whether enough nodes vote, and awaitSayEvery how often
// it logs that they do not.
const (
	awaitEvery    = 50 * time.Millisecond
	awaitSayEvery = 30 * time.Second
)

// awaitOthers returns when enough nodes vote in all groups, and records that in the folder.
func awaitOthers(m *member.Member, life *lifetime) {
	t := time.NewTicker(awaitEvery)
	defer t.Stop()
	var said time.Time
	for {
		why := m.Short()
		if why == nil {
			if err := m.Folder.MarkComplete(); err != nil {
				life.die(err)
				return
			}
			m.Awaited.Store(0)
			m.Log.Info("enough of the expected nodes vote: writes are taken")
			return
		}
		if time.Since(said) >= awaitSayEvery {
			said = time.Now()
			m.Log.Info("clients that write wait for the others; started with a smaller bootstrap-expect, this node awaits fewer", "reason", why)
		}
		select {
		case <-t.C:
		case <-life.ctx.Done():
			return
		}
	}
}

// awaitVoters starts to wait for the other nodes if this node has founded the cluster.
func (n *Node) awaitVoters(context.Context) error {
	if n.Awaited.Load() > 0 {
		n.background.Go(func() { awaitOthers(n.Member, n.lifetime) })
	}
	return nil
}
