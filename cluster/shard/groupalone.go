package shard

import (
	"time"

	"github.com/hashicorp/raft"
)

// keyAlone is where a group's stable store keeps the index of a configuration
// whose only voter is this node, and under which it has led.
var keyAlone = []byte("lockstep.alone")

// A follower waits for a heartbeat timeout before it stands for election: there may be a
// leader, and that leader's lease may rest on a promise that this node made before its
// restart (raftio.Hush). A node that is the only voter need not wait. But a configuration
// that names no other voter does not prove that there is no other leader: the leader of a
// group of two may have just removed itself, and may not know yet that it no longer
// leads.
//
// It is enough that this node has led. Let this node have led while C, a configuration
// with no other voter, was the latest in its log. It was elected when its promises had
// run out, so there was no other leader then. No other node can be elected later: C's
// predecessor had at most one voter more, because Raft changes one at a time. So each
// quorum of it includes this node, which does not vote for a node whose log lacks C; and
// a node whose log has C knows that it has no vote. This holds until C's successor, which
// this node makes itself. So this node writes down the index of C when it leads. As long
// as C is its latest configuration it stands at once: there is no leader to wait for, and
// it has promised nothing to any node.
//
// The library has no call for that. But when ReloadConfig shortens the heartbeat timeout,
// a follower checks at once whether it has run out. So stand first makes it longer, by a
// nanosecond, and then shorter.

// candidacy says when this node stands for election: at once if it is the only voter, and
// not before it has the log that a former replica of this node had.
type candidacy struct {
	cfg    *GroupConfig
	latest *roster
	tuning *tuning
}

// standAlone makes this node stand for election at once if it is certain that
// there is no other leader.
func (c *candidacy) standAlone(p *groupParts) error {
	at, alone := c.latest.alone()
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
	return c.stand(p.raft)
}

// noteAlone records that this node leads and is the only voter.
func (c *candidacy) noteAlone(p *groupParts) error {
	at, alone := c.latest.alone()
	// The order matters: alone was called first, so the configuration is in the leader's
	// log.
	if _, leads := leadership(p.raft); !alone || !leads || p.raft.LastIndex() < at {
		return nil
	}
	if led, err := p.stores.Stable.GetUint64(keyAlone); err == nil && led == at {
		return nil
	}
	return p.stores.Stable.SetUint64(keyAlone, at)
}

// stand makes a follower check its timer now.
func (c *candidacy) stand(r *raft.Raft) error {
	heartbeat, election := ms(c.cfg.HeartbeatMs), ms(c.cfg.ElectionMs)
	for _, longer := range []time.Duration{1, 0} {
		err := c.tuning.change(r, func(rc *raft.ReloadableConfig) {
			rc.HeartbeatTimeout, rc.ElectionTimeout = heartbeat+longer, election+longer
		})
		if err != nil {
			return err
		}
	}
	return nil
}
