package shard

import (
	"time"

	"lockstep/cluster/raftio"
)

const (
	// neverStands is a heartbeat timeout that does not run out.
	neverStands = 10 * 365 * 24 * time.Hour
	// pledgeLookEvery is how often a replica looks whether it has caught up with what
	// a former one had.
	pledgeLookEvery = 20 * time.Millisecond
)

// Left is what this replica has promised, for the next one on this node; it is known
// when Shutdown has returned without an error.
func (g *Group) Left() raftio.Pledge {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left
}

// fallsShort reports whether the log does not reach as far as that of a former replica of
// this node. Such a one must not stand for election, and where its part of the log names
// no other voter it would win by its own vote: so it has a timer that never runs out,
// until its leader has sent it the rest.
func (g *Group) fallsShort(p *groupParts) (bool, error) {
	term, index, err := p.stores.End()
	return !g.cfg.Pledge.Keeps(term, index), err
}

// catchUpWithPledge gives the replica its timers when it does not fall short any more.
func (g *Group) catchUpWithPledge(p *groupParts) {
	tick := time.NewTicker(pledgeLookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.stop:
			return
		}
		short, err := g.fallsShort(p)
		if err == nil && !short {
			err = g.stand(p.raft)
		}
		if err != nil {
			g.cfg.Log.Warn("a replica that was here before had more of the log", "group", g.cfg.ID, "err", err)
			continue
		}
		if !short {
			return
		}
	}
}
