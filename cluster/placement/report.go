package placement

import (
	"slices"

	"lockstep/cluster/meta"
)

// Report says where replicas are, what is moving, and what will be done next. clusterctl prints it.
// Fields are only ever added.
type Report struct {
	// Replicas is how many replicas each shard should have; 0 means one on every node, and then
	// nothing is ever moved.
	Replicas int           `json:"replicas"`
	Nodes    []NodeReport  `json:"nodes"`
	Shards   []ShardReport `json:"shards"`
	// Plan lists all steps until the cluster is balanced, in order, if nothing else happens.
	Plan []StepReport `json:"plan,omitempty"`
	// Balanced is true if nothing needs to be done, now or later, and nothing is under way.
	Balanced bool `json:"balanced"`
	// Still is true if the steps of the plan that only improve balance wait for an operator's
	// order.
	Still bool `json:"still,omitempty"`
}

// NodeReport reports the state and the load of a node.
type NodeReport struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Drained  bool   `json:"drained,omitempty"`
	Alive    bool   `json:"alive"`
	Replicas int    `json:"replicas"`
	Leaders  int    `json:"leaders"`
}

// ShardReport reports where a shard is.
type ShardReport struct {
	Shard     uint32          `json:"shard"`
	FirstSlot int             `json:"first_slot"`
	LastSlot  int             `json:"last_slot"`
	Leader    string          `json:"leader,omitempty"`
	LastIndex uint64          `json:"last_index,omitempty"`
	Replicas  []ReplicaReport `json:"replicas"`
	// Waits says in words which wanted change is not possible now.
	Waits string `json:"waits,omitempty"`
}

// ReplicaReport is one replica; Node is the node's name.
type ReplicaReport struct {
	Node string `json:"node"`
	ID   string `json:"id"`
	// State is "voter"; "catching up": the replica has come to Match of the shard's LastIndex;
	// "wanted": the group does not know it yet; or "going".
	State string `json:"state"`
	Match uint64 `json:"match,omitempty"`
	// SentBytes of SnapshotBytes have been sent to the replica; both are 0 if no snapshot is being
	// sent.
	SentBytes     int64 `json:"sent_bytes,omitempty"`
	SnapshotBytes int64 `json:"snapshot_bytes,omitempty"`
}

// States of a replica.
const (
	StateVoter      = "voter"
	StateCatchingUp = "catching up"
	StateWanted     = "wanted"
	StateGoing      = "going"
)

// StepReport is a Step; Node is the node's name.
type StepReport struct {
	Step  string `json:"step"`
	Shard uint32 `json:"shard"`
	Node  string `json:"node"`
	Why   string `json:"why"`
}

func reportOf(view *meta.View, facts *Facts, limits Limits) *Report {
	now := Plan(view, facts, limits)
	r := &Report{Replicas: view.Replicas, Balanced: now.Balanced, Still: limits.Still}
	name := func(id meta.NodeID) string {
		if n, ok := view.Node(id); ok {
			return n.Name
		}
		return string(id)
	}
	for _, n := range view.Nodes {
		r.Nodes = append(r.Nodes, NodeReport{
			ID: string(n.ID), Name: n.Name, State: string(n.State), Drained: n.Drained, Alive: facts.node(n.ID).Alive,
			Replicas: count(view, func(s *meta.Shard) bool { return s.Has(n.ID) }),
			Leaders:  count(view, func(s *meta.Shard) bool { return facts.shard(int(s.ID)).Leader == n.ID }),
		})
	}
	for i := range view.Shards {
		r.Shards = append(r.Shards, shardReport(&view.Shards[i], facts.shard(i), now.Waits[uint32(i)], name))
	}
	for _, s := range Forecast(view, facts) {
		r.Balanced = false // the step waits, or the loop may not carry it out now
		r.Plan = append(r.Plan, StepReport{Step: string(s.Kind), Shard: s.Shard, Node: name(s.Node), Why: s.Why})
	}
	return r
}

func count(view *meta.View, is func(*meta.Shard) bool) int {
	n := 0
	for i := range view.Shards {
		if is(&view.Shards[i]) {
			n++
		}
	}
	return n
}

func shardReport(s *meta.Shard, f ShardFacts, waits string, name func(meta.NodeID) string) ShardReport {
	r := ShardReport{Shard: s.ID, FirstSlot: int(s.FirstSlot), LastSlot: int(s.LastSlot), LastIndex: f.LastIndex, Waits: waits}
	if f.Leader != "" {
		r.Leader = name(f.Leader)
	}
	if r.Waits == "" {
		r.Waits = f.Waits
	}
	for _, id := range s.Replicas {
		r.Replicas = append(r.Replicas, replicaReport(id, f, name))
	}
	for _, g := range s.Going {
		r.Replicas = append(r.Replicas, ReplicaReport{Node: name(g.Node), ID: string(g.Node), State: StateGoing})
	}
	return r
}

func replicaReport(id meta.NodeID, f ShardFacts, name func(meta.NodeID) string) ReplicaReport {
	r := ReplicaReport{Node: name(id), ID: string(id), State: StateWanted}
	if i := slices.IndexFunc(f.Members, func(m Member) bool { return m.Node == id }); i >= 0 {
		m := f.Members[i]
		r.Match, r.SentBytes, r.SnapshotBytes, r.State = m.Match, m.SentBytes, m.SnapshotBytes, StateCatchingUp
		if m.Voter {
			r.State = StateVoter
		}
		if id == f.Leader {
			r.Match = f.LastIndex
		}
	}
	return r
}

// Forecast returns all steps until nothing is left to do, if every copy succeeds and nothing else
// happens.
func Forecast(view *meta.View, facts *Facts) []Step {
	v, f := *view, Facts{Nodes: map[meta.NodeID]NodeFacts{}, Shards: slices.Clone(facts.Shards)}
	v.Shards = slices.Clone(view.Shards)
	for id, n := range facts.Nodes {
		n.Steady = n.Alive
		f.Nodes[id] = n
	}
	var steps []Step
	for range forecastRounds {
		// Every change under way succeeds.
		for i := range v.Shards {
			completeMoves(&v.Shards[i], &f.Shards[i])
		}
		r := Plan(&v, &f, Limits{CopiesMax: meta.MaxShards})
		if len(r.Steps) == 0 {
			break
		}
		for _, s := range r.Steps {
			steps = append(steps, s)
			foretell(&v.Shards[s.Shard], &f.Shards[s.Shard], s)
		}
	}
	return steps
}

// forecastRounds bounds a forecast. No cluster that package meta allows needs more rounds.
const forecastRounds = 4 * meta.MaxShards * meta.MaxReplicas

func completeMoves(s *meta.Shard, f *ShardFacts) {
	s.Going = nil
	if f.Leader == "" {
		return
	}
	f.Steady = true
	f.Members = make([]Member, len(s.Replicas))
	for i, id := range s.Replicas {
		f.Members[i] = Member{Node: id, Voter: true}
	}
	if !s.Has(f.Leader) {
		f.Leader = s.Replicas[0]
	}
}

func foretell(s *meta.Shard, f *ShardFacts, step Step) {
	at, _ := slices.BinarySearch(s.Replicas, step.Node)
	switch step.Kind {
	case AddReplica:
		s.Replicas = slices.Insert(slices.Clone(s.Replicas), at, step.Node)
	case DropReplica:
		s.Replicas = slices.Delete(slices.Clone(s.Replicas), at, at+1)
	case MoveLeader:
		f.Leader = step.Node
	}
}
