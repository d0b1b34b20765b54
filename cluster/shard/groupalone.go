package shard

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// keyAlone is where a group's stable store keeps the index of a configuration
// whose only voter is this node, and under which it has led.
var keyAlone = []byte("lockstep.alone")

// A follower waits for a heartbeat timeout before it stands for election: there
// may be a leader, and that one's lease may rest on a promise that this node made
// before it was started again (raftio.Hush). A node that is the only voter need
// not wait, but that its configuration names no other voter is not enough: the
// leader of a group of two may have removed itself a moment ago, and not know yet
// that it leads no more.
//
// Having led is enough. Let this node have led while C, a configuration with no
// other voter, was the latest in its log. It was elected when its promises had run
// out, so there was no other leader then. Nobody can be elected later: C's
// predecessor had at most one voter more, for Raft changes one at a time, so each
// quorum of it holds this node, which votes for nobody whose log lacks C; and who
// has C knows that it has no vote. That ends with C's successor, which this node
// makes itself. So the index of C is written down when this node leads, and as
// long as C is its latest configuration it stands at once: there is no leader to
// wait for, and it has promised nothing to anybody.
//
// The library has no call for that. But where ReloadConfig makes the heartbeat
// timeout shorter, a follower looks at once whether it has run out; so it is made
// longer first, by a nanosecond.

// standAlone makes this node stand for election at once if it is certain that
// there is no other leader.
func (g *Group) standAlone(p *groupParts) error {
	at, alone := g.alone()
	if !alone {
		return nil
	}
	led, err := p.stores.Stable.GetUint64(keyAlone)
	switch {
	case err != nil && err.Error() == "not found":
		return nil
	case err != nil:
		return err
	case led != at:
		return nil
	}
	return g.stand(p.raft)
}

// noteAlone writes down that this node leads, and votes alone.
func (g *Group) noteAlone(p *groupParts) error {
	at, alone := g.alone()
	// Whether this node leads is asked behind that: the configuration must be in
	// the leader's log.
	if _, leads := leadership(p.raft); !alone || !leads || p.raft.LastIndex() < at {
		return nil
	}
	if led, err := p.stores.Stable.GetUint64(keyAlone); err == nil && led == at {
		return nil
	}
	return p.stores.Stable.SetUint64(keyAlone, at)
}

// alone reports whether this node is the only voter of the latest configuration, and that
// one's index.
func (g *Group) alone() (index uint64, alone bool) {
	latest := g.latest.Load()
	return latest.Index, slices.Equal(latest.Voters(), []raft.ServerID{g.cfg.LocalID})
}

// stand has a follower look at its timer now.
func (g *Group) stand(r *raft.Raft) error {
	heartbeat, election := ms(g.cfg.HeartbeatMs), ms(g.cfg.ElectionMs)
	for _, longer := range []time.Duration{1, 0} {
		err := g.configure(r, func(c *raft.ReloadableConfig) {
			c.HeartbeatTimeout, c.ElectionTimeout = heartbeat+longer, election+longer
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// configure changes what can be changed of a running library's configuration.
func (g *Group) configure(r *raft.Raft, change func(*raft.ReloadableConfig)) error {
	g.configuring.Lock()
	defer g.configuring.Unlock()
	c := r.ReloadableConfig()
	change(&c)
	return r.ReloadConfig(c)
}
