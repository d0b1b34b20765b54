package proc

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"lockstep/cluster/placement"
	"lockstep/engine/hashslot"
)

// placedPatience is how long the cluster may take to place replicas where they should be.
const placedPatience = 3 * time.Minute

// Placement is a node's report on where replicas are, or nil if it gives none.
func Placement(n *Node) *placement.Report {
	text, err := ask(n.Addr(), lookPatience, "LOCKSTEP", "PLACEMENT")
	r := &placement.Report{}
	if err != nil || json.Unmarshal([]byte(text), r) != nil {
		return nil
	}
	return r
}

// replicasUsual is the default number of replicas of a shard.
const replicasUsual = 3

// waitVoters waits until every shard has at least this many voting replicas.
func (c *Cluster) waitVoters(least int) {
	c.t.Helper()
	Wait(c.t, placedPatience, fmt.Sprintf("every shard has %d voters", least), func() bool {
		r := Placement(c.Nodes[0])
		if r == nil {
			return false
		}
		for _, s := range r.Shards {
			voters := 0
			for _, x := range s.Replicas {
				if x.State == placement.StateVoter {
					voters++
				}
			}
			if voters < least {
				return false
			}
		}
		return true
	})
}

// WaitPlaced waits until every shard has exactly this many replicas, all of them vote, and none is
// moving.
func (c *Cluster) WaitPlaced(asked *Node, replicas int) {
	c.t.Helper()
	Wait(c.t, placedPatience, fmt.Sprintf("every shard has %d replicas", replicas), func() bool {
		r := Placement(asked)
		if r == nil || !r.Balanced {
			return false
		}
		for _, s := range r.Shards {
			if len(s.Replicas) != replicas || slices.ContainsFunc(s.Replicas, func(x placement.ReplicaReport) bool { return x.State != placement.StateVoter }) {
				return false
			}
		}
		return true
	})
}

// Where says which nodes have replicas of a key's shard.
type Where struct {
	Shard int
	// Leader leads the shard. Near have a replica, Far have none.
	Leader    *Node
	Near, Far []*Node
}

// Where waits until a node knows a running leader of a key's shard, and returns where the shard is.
func (c *Cluster) Where(t testing.TB, asked *Node, key string) Where {
	t.Helper()
	var w Where
	Wait(t, placedPatience, "a running leader of "+key, func() bool {
		w = c.where(asked, key)
		return w.Leader != nil && w.Leader.Running()
	})
	return w
}

func (c *Cluster) where(asked *Node, key string) Where {
	r := Placement(asked)
	if r == nil {
		return Where{}
	}
	slot := hashslot.Of([]byte(key))
	for _, s := range r.Shards {
		if slot < s.FirstSlot || slot > s.LastSlot {
			continue
		}
		w := Where{Shard: int(s.Shard)}
		for _, n := range c.Nodes {
			if n.Name == s.Leader {
				w.Leader = n
			}
			if slices.ContainsFunc(s.Replicas, func(x placement.ReplicaReport) bool { return x.Node == n.Name }) {
				w.Near = append(w.Near, n)
			} else {
				w.Far = append(w.Far, n)
			}
		}
		return w
	}
	return Where{}
}
