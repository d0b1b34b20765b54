package meta

import (
	"fmt"
	"slices"
)

// MaxReplicas is the most replicas that a shard may have: more would make its writes slower and no
// safer.
const MaxReplicas = 7

// Going is a replica that should no longer exist and has not been deleted yet.
type Going struct {
	Node NodeID `json:"node"`
	// Since is the log index of the command that ended the replica. It distinguishes this removal
	// from another one of the same node and shard.
	Since uint64 `json:"since"`
	// LetGo is true if the shard's Raft group has removed the node for good, so that the node may
	// delete its data.
	LetGo bool `json:"let_go,omitempty"`
}

// Has reports whether the shard should have a replica on a node.
func (s *Shard) Has(id NodeID) bool {
	_, ok := slices.BinarySearch(s.Replicas, id)
	return ok
}

// GoingFrom returns the going replica of a node.
func (s *Shard) GoingFrom(id NodeID) (Going, bool) {
	if i := s.goingAt(id); i >= 0 {
		return s.Going[i], true
	}
	return Going{}, false
}

func (s *Shard) goingAt(id NodeID) int {
	return slices.IndexFunc(s.Going, func(g Going) bool { return g.Node == id })
}

// Placed reports whether the meta group decides where replicas are. In a cluster that was created
// with `replicas 0`, every node has a replica of every shard until an operator sets the number of
// replicas.
func (v *View) Placed() bool { return v.Replicas > 0 }

// SetReplicas sets how many replicas each shard should have. The placement then adds and removes
// replicas one by one.
type SetReplicas struct {
	Count int `json:"count"`
}

func (c *SetReplicas) apply(v *View) (bool, error) {
	if !v.Created() {
		return false, ErrNotCreated
	}
	if c.Count < 1 || c.Count > MaxReplicas {
		return false, ErrInvalid.With(fmt.Sprintf("a shard has 1 to %d replicas, not %d", MaxReplicas, c.Count))
	}
	changed := v.Replicas != c.Count
	// The shards keep the list of their current replicas (View.finish).
	v.Replicas = c.Count
	return changed, nil
}

// PlaceReplica adds a replica of a shard on node Add, or removes the one on node Drop. It is
// refused unless Was is the shard's current list of replicas: otherwise the planner saw another
// state.
type PlaceReplica struct {
	Shard uint32   `json:"shard"`
	Was   []NodeID `json:"was"`
	Add   NodeID   `json:"add,omitempty"`
	Drop  NodeID   `json:"drop,omitempty"`
}

func (c *PlaceReplica) apply(v *View) (bool, error) {
	s, err := c.shard(v)
	if err != nil {
		return false, err
	}
	if (c.Add == "") == (c.Drop == "") {
		return false, ErrInvalid.With("one replica is added or one is dropped")
	}
	id := c.Add + c.Drop
	if s.Has(id) == (c.Add != "") {
		return false, nil // done already
	}
	if !slices.Equal(s.Replicas, c.Was) {
		return false, ErrStale.With(fmt.Sprintf("the replicas of shard %d are %v, not %v", c.Shard, s.Replicas, c.Was))
	}
	if c.Add != "" {
		return c.add(v, s)
	}
	return c.drop(v, s)
}

func (c *PlaceReplica) shard(v *View) (*Shard, error) {
	if !v.Placed() {
		return nil, ErrNotPlaced
	}
	return shardOf(v, c.Shard)
}

func (c *PlaceReplica) add(v *View, s *Shard) (bool, error) {
	if _, err := liveNode(v, c.Add); err != nil {
		return false, err
	}
	if _, going := s.GoingFrom(c.Add); going {
		return false, ErrStale.With(fmt.Sprintf("%s has not deleted its former replica of shard %d yet", c.Add, c.Shard))
	}
	at, _ := slices.BinarySearch(s.Replicas, c.Add)
	// New arrays, here and below: the old ones belong to earlier views.
	s.Replicas = slices.Insert(slices.Clone(s.Replicas), at, c.Add)
	return true, nil
}

func (c *PlaceReplica) drop(v *View, s *Shard) (bool, error) {
	if len(s.Replicas) == 1 {
		return false, ErrInvalid.With(fmt.Sprintf("%s has the last replica of shard %d", c.Drop, c.Shard))
	}
	at, _ := slices.BinarySearch(s.Replicas, c.Drop)
	s.Replicas = slices.Delete(slices.Clone(s.Replicas), at, at+1)
	s.Going = append(slices.Clone(s.Going), Going{Node: c.Drop, Since: v.Index})
	return true, nil
}

// LetGo records that a shard's group has removed a going replica.
type LetGo struct {
	Shard uint32 `json:"shard"`
	Node  NodeID `json:"node"`
	Since uint64 `json:"since"`
}

func (c *LetGo) apply(v *View) (bool, error) {
	s, err := shardOf(v, c.Shard)
	if err != nil {
		return false, err
	}
	i := s.goingAt(c.Node)
	if i < 0 || s.Going[i].Since != c.Since || s.Going[i].LetGo {
		return false, nil
	}
	s.Going = slices.Clone(s.Going)
	s.Going[i].LetGo = true
	return true, nil
}

// Dropped records that a node has deleted a replica that its group had removed. Only then may the
// node get another replica of that shard: no old data is left that it could mistake for the new
// replica's.
type Dropped struct {
	Shard uint32 `json:"shard"`
	Node  NodeID `json:"node"`
	Since uint64 `json:"since"`
}

func (c *Dropped) apply(v *View) (bool, error) {
	s, err := shardOf(v, c.Shard)
	if err != nil {
		return false, err
	}
	i := s.goingAt(c.Node)
	if i < 0 || s.Going[i].Since != c.Since {
		return false, nil
	}
	if !s.Going[i].LetGo {
		return false, ErrInvalid.With(fmt.Sprintf("the group of shard %d has not let go of %s", c.Shard, c.Node))
	}
	s.Going = slices.Delete(slices.Clone(s.Going), i, i+1)
	return true, nil
}

// MarkDrained sets or clears Drained of a node. A drained node should have no replicas and lead no
// shard, as far as other nodes can take them.
type MarkDrained struct {
	ID      NodeID `json:"id"`
	Drained bool   `json:"drained"`
}

func (c *MarkDrained) apply(v *View) (bool, error) {
	i, err := liveNode(v, c.ID)
	if err != nil {
		return false, err
	}
	changed := v.Nodes[i].Drained != c.Drained
	v.Nodes[i].Drained = c.Drained
	return changed, nil
}

// forget deletes a removed node's going replicas from all shards: that node will not report any
// more that it has deleted them.
func (v *View) forget(id NodeID) {
	for i := range v.Shards {
		if at := v.Shards[i].goingAt(id); at >= 0 {
			v.Shards[i].Going = slices.Delete(slices.Clone(v.Shards[i].Going), at, at+1)
		}
	}
}

func shardOf(v *View, number uint32) (*Shard, error) {
	if uint64(number) >= uint64(len(v.Shards)) {
		return nil, ErrInvalid.With(fmt.Sprintf("there is no shard %d", number))
	}
	return &v.Shards[number], nil
}

// PromoteNode makes a learner a voter: it may vote in every group as soon as it has caught up.
type PromoteNode struct {
	ID NodeID `json:"id"`
}

func (c *PromoteNode) apply(v *View) (bool, error) {
	i, err := liveNode(v, c.ID)
	if err != nil {
		return false, err
	}
	if !v.Nodes[i].Learner {
		return false, nil
	}
	v.Nodes[i].Learner = false
	return true, nil
}
