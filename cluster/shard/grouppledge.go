package shard

import (
	"time"

	"lockstep/cluster/raftio"
)

const (
	// neverStands is a heartbeat timeout that does not run out.
	neverStands = 10 * 365 * 24 * time.Hour
	// pledgeLookEvery is how often a replica checks whether it has caught up with the log
	// that a former replica had.
	pledgeLookEvery = 20 * time.Millisecond
)

// Left is the promise of this replica for the next one on this node. It is known when
// Shutdown has returned without an error.
func (g *Group) Left() raftio.Pledge {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left
}

// fallsShort reports whether the log ends before that of a former replica of this node.
// Such a replica must not stand for election: if its part of the log names no other
// voter, it would win by its own vote. So its timer never runs out until its leader has
// sent it the rest.
func (c *candidacy) fallsShort(p *groupParts) (bool, error) {
	term, index, err := p.stores.End()
	return !c.cfg.Pledge.Keeps(term, index), err
}

// catchUpWithPledge gives the replica its timers when its log is long enough.
func (c *candidacy) catchUpWithPledge(p *groupParts) {
	tick := time.NewTicker(pledgeLookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.stop:
			return
		}
		short, err := c.fallsShort(p)
		if err == nil && !short {
			err = c.stand(p.raft)
		}
		if err != nil {
			c.cfg.Log.Warn("a replica that was here before had more of the log", "group", c.cfg.ID, "err", err)
			continue
		}
		if !short {
			return
		}
	}
}
