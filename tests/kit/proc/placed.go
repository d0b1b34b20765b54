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

// placedPatience is how long replicas may take to be where they should.
const placedPatience = 3 * time.Minute

// Placement is a node's report on where replicas are; nil if it gives none.
func Placement(n *Node) *placement.Report {
	text, err := ask(n.Addr(), lookPatience, "LOCKSTEP", "PLACEMENT")
	r := &placement.Report{}
	if err != nil || json.Unmarshal([]byte(text), r) != nil {
		return nil
	}
	return r
}

// replicasUsual is how many replicas a shard has where nobody says otherwise.
const replicasUsual = 3

// waitVoters waits until every shard has at least so many voting replicas.
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

// WaitPlaced waits until every shard has so many voting replicas and no others,
// and nothing is on its way.
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

// Where is where the replicas of a key's shard are.
type Where struct {
	Shard int
	// Leader leads it; Near have a replica, Far have none.
	Leader    *Node
	Near, Far []*Node
}

// Where tells where a key's shard is, as a node knows it, as soon as it knows a
// leader that runs.
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
