package placement

import (
	"cmp"
	"fmt"
	"slices"

	"lockstep/cluster/meta"
)

// planner holds the input of Plan and its work so far.
type planner struct {
	view   *meta.View
	facts  *Facts
	limits Limits

	// good are the nodes that may keep replicas, and open those of them that can take one now. Both
	// are ordered by id.
	good, open []meta.NodeID
	// load counts the replicas that each node will have when the changes under way have ended.
	load map[meta.NodeID]int
	// extra is, per shard, the node whose replica should go, or empty.
	extra []meta.NodeID
	// copies counts the shards that are copying a replica.
	copies int
	// taken are the shards that have a step in this plan, or a change under way.
	taken  []bool
	result Result
}

// Plan decides what to do next, so that every shard has its replicas on nodes that answer, and
// replicas and leaders are spread evenly. It is a pure function. Its steps are for different shards
// and may be carried out together.
func Plan(view *meta.View, facts *Facts, limits Limits) Result {
	p := &planner{
		view: view, facts: facts, limits: limits, load: map[meta.NodeID]int{},
		taken: make([]bool, len(view.Shards)), extra: make([]meta.NodeID, len(view.Shards)), result: Result{Waits: map[uint32]string{}},
	}
	if !view.Created() || !view.Placed() {
		p.result.Balanced = p.allStay()
		return p.result
	}
	p.classify()
	for i := range view.Shards {
		if !p.taken[i] {
			p.drop(i)
		}
	}
	for i := range view.Shards {
		if !p.taken[i] {
			p.fill(i)
		}
	}
	// Missing replicas come before balance.
	if !limits.Still && !p.wants() {
		for p.level() {
		}
	}
	p.lead()
	p.result.Balanced = len(p.result.Steps) == 0 && len(p.result.Moving) == 0 && len(p.result.Waits) == 0 && p.allStay()
	return p.result
}

// allStay reports whether no node is joining or leaving.
func (p *planner) allStay() bool {
	return !slices.ContainsFunc(p.view.Nodes, func(n meta.Node) bool { return n.State != meta.Member })
}

// classify finds the good and open nodes and the shards with a change under way, and counts replicas
// and copies.
func (p *planner) classify() {
	for _, n := range p.view.Nodes {
		f := p.facts.node(n.ID)
		if n.State != meta.Member || n.Drained || n.Learner || f.Lost {
			continue
		}
		p.good = append(p.good, n.ID)
		if f.Alive {
			p.open = append(p.open, n.ID)
		}
	}
	for i := range p.view.Shards {
		for _, id := range p.view.Shards[i].Replicas {
			p.load[id]++
		}
		if p.underWay(i) {
			p.taken[i] = true
			p.result.Moving = append(p.result.Moving, uint32(i))
		}
		if p.arriving(i) != "" && p.facts.shard(i).Leader != "" {
			p.copies++
		}
	}
	for i := range p.view.Shards {
		if p.extra[i] = p.surplus(i); p.extra[i] != "" {
			p.load[p.extra[i]]--
		}
	}
}

// underWay reports whether a shard must be left alone: its group is changing, or it has no leader
// that could report.
func (p *planner) underWay(i int) bool {
	s, f := &p.view.Shards[i], p.facts.shard(i)
	if f.Leader == "" {
		p.wait(i, "shard %d has no leader", i)
		return true
	}
	if p.arriving(i) != "" {
		// Giving up a replica that will never vote need not wait for the one that arrives: it does
		// not change the quorum, and the one that arrives may take long, or be dead as well.
		return p.voteless(i, true) == ""
	}
	return slices.ContainsFunc(s.Going, func(g meta.Going) bool { return !g.LetGo && f.has(g.Node) && !p.heldUp(i, g.Node) })
}

// heldUp reports whether a replica that should go waits for a missing one: the node of another
// replica has died since, so the group cannot lose this one.
func (p *planner) heldUp(i int, id meta.NodeID) bool {
	why := p.cannotLose(i, id)
	if why == "" || p.kept(i) >= p.view.Replicas {
		return false
	}
	p.wait(i, "%s", why)
	return true
}

// arriving returns the node of the wanted replica that does not vote yet and will, or "".
func (p *planner) arriving(i int) meta.NodeID { return p.voteless(i, false) }

// voteless returns the node of a wanted replica that does not vote and should, or "". hopeless
// selects nodes that are hopeless, or nodes that are not. A replica on a learner does not count;
// learners have some if replicas were on every node before.
func (p *planner) voteless(i int, hopeless bool) meta.NodeID {
	f := p.facts.shard(i)
	for _, id := range p.view.Shards[i].Replicas {
		if n, _ := p.view.Node(id); !n.Learner && !f.Votes(id) && p.hopeless(id) == hopeless {
			return id
		}
	}
	return ""
}

// hopeless reports whether a replica that does not vote yet should be given up: its node is leaving
// or has been away for a while.
func (p *planner) hopeless(id meta.NodeID) bool {
	f := p.facts.node(id)
	return p.leaving(id) || f.Lost || f.Missing
}

func (p *planner) leaving(id meta.NodeID) bool {
	n, known := p.view.Node(id)
	return !known || !n.State.Live()
}

func (p *planner) isGood(id meta.NodeID) bool {
	_, ok := slices.BinarySearch(p.good, id)
	return ok
}

// kept counts the replicas of a shard on good nodes.
func (p *planner) kept(i int) int {
	n := 0
	for _, id := range p.view.Shards[i].Replicas {
		if p.isGood(id) {
			n++
		}
	}
	return n
}

// takers returns the nodes that could take a replica of a shard now, the best first: the successor
// of a leaving node, then the node with the fewest replicas.
func (p *planner) takers(i int) []meta.NodeID {
	s := &p.view.Shards[i]
	var list []meta.NodeID
	for _, id := range p.open {
		if _, going := s.GoingFrom(id); !going && !s.Has(id) {
			list = append(list, id)
		}
	}
	succeeds := func(id meta.NodeID) int {
		for _, r := range s.Replicas {
			if n, ok := p.view.Node(r); ok && p.leaving(r) && n.ReplacedBy == id {
				return 0
			}
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b meta.NodeID) int {
		return cmp.Or(cmp.Compare(succeeds(a), succeeds(b)), cmp.Compare(p.load[a], p.load[b]))
	})
	return list
}

// surplus returns the node whose replica a shard should lose now, or "".
func (p *planner) surplus(i int) meta.NodeID {
	s := &p.view.Shards[i]
	if len(s.Replicas) == 1 {
		return ""
	}
	kept := p.kept(i)
	enough := kept >= p.view.Replicas
	if id := p.voteless(i, true); id != "" && p.facts.shard(i).Leader != "" {
		return id
	}
	for _, id := range s.Replicas {
		n, _ := p.view.Node(id)
		switch {
		case p.leaving(id) && (enough || n.Forced || p.cameInPlace(n) || kept >= 1 && len(p.takers(i)) == 0):
			return id
		case enough && !p.isGood(id):
			return id
		}
	}
	if kept <= p.view.Replicas {
		return ""
	}
	return p.heaviest(i)
}

// cameInPlace reports whether a leaving node's successor waits at the same address, where it cannot
// be reached before the old one has gone.
func (p *planner) cameInPlace(n meta.Node) bool {
	next, ok := p.view.Node(n.ReplacedBy)
	return ok && next.State.Live() && next.PeerAddr == n.PeerAddr
}

// heaviest returns the good node whose replica should go: the one with most replicas, among equals
// one that does not lead, and of these the last. If a good node does not answer, all others are
// needed: while that node may be back soon, nothing goes, and afterwards its replica does.
func (p *planner) heaviest(i int) meta.NodeID {
	for _, id := range p.view.Shards[i].Replicas {
		n := p.facts.node(id)
		switch {
		case !p.isGood(id) || n.Alive:
		case n.Missing:
			return id
		default:
			p.wait(i, "shard %d has a replica too many, and which is to go is seen when %s answers, or has not for a while", i, id)
			return ""
		}
	}
	s, f := &p.view.Shards[i], p.facts.shard(i)
	var best meta.NodeID
	rank := func(id meta.NodeID) int {
		r := 2 * p.load[id]
		if id != f.Leader {
			r++
		}
		return r
	}
	for _, id := range s.Replicas {
		if p.isGood(id) && (best == "" || rank(id) >= rank(best)) {
			best = id
		}
	}
	return best
}

// drop removes a surplus replica, if the shard can lose it.
func (p *planner) drop(i int) {
	id := p.extra[i]
	if id == "" {
		return
	}
	if why := p.cannotLose(i, id); why != "" {
		p.wait(i, "%s", why)
		return
	}
	p.step(Step{Kind: DropReplica, Shard: uint32(i), Node: id, Why: p.whyDrop(i, id)})
}

func (p *planner) whyDrop(i int, id meta.NodeID) string {
	n, _ := p.view.Node(id)
	switch {
	case p.leaving(id):
		return fmt.Sprintf("%s is leaving", id)
	case p.facts.node(id).Lost || p.facts.node(id).Missing:
		return fmt.Sprintf("%s does not answer", id)
	case n.Drained:
		return fmt.Sprintf("%s is drained", id)
	case n.Learner:
		return fmt.Sprintf("%s is a learner", id)
	}
	return fmt.Sprintf("shard %d has %d replicas and %d are wanted", i, len(p.view.Shards[i].Replicas), p.view.Replicas)
}

// cannotLose returns why a shard cannot lose a node's replica now, or "".
func (p *planner) cannotLose(i int, id meta.NodeID) string {
	f := p.facts.shard(i)
	if !f.Votes(id) {
		return ""
	}
	if n, _ := p.view.Node(id); n.Forced {
		return ""
	}
	voters, alive := 0, 0
	for _, m := range f.Members {
		if m.Voter && m.Node != id {
			voters++
			if p.facts.node(m.Node).Alive {
				alive++
			}
		}
	}
	if needed := voters/2 + 1; alive < needed {
		return fmt.Sprintf("without %s, %d of %d voters of shard %d would be alive, and %d are needed", id, alive, voters, i, needed)
	}
	return ""
}

// fill adds a replica if one is missing.
func (p *planner) fill(i int) {
	if p.kept(i) >= p.view.Replicas {
		return
	}
	list := p.takers(i)
	if len(list) == 0 {
		// A cluster with fewer nodes than replicas is only small, which needs no message. A replica
		// on a node that should not have it needs one.
		if bad := len(p.view.Shards[i].Replicas) - p.kept(i); bad > 0 {
			p.wait(i, "no other node can take a replica of shard %d", i)
		}
		return
	}
	why := fmt.Sprintf("shard %d has %d of %d replicas", i, p.kept(i), p.view.Replicas)
	for _, id := range p.view.Shards[i].Replicas {
		if !p.isGood(id) {
			why = "in place of the one on " + string(id)
		}
	}
	p.add(i, list[0], why)
}

// add adds a replica on a node, unless too many are being copied.
func (p *planner) add(i int, id meta.NodeID, why string) bool {
	if p.copies >= p.limits.CopiesMax {
		p.wait(i, "a replica of shard %d for %s waits for other copies to end", i, id)
		return false
	}
	p.copies++
	p.load[id]++
	p.step(Step{Kind: AddReplica, Shard: uint32(i), Node: id, Why: why})
	return true
}

// wants reports whether any shard lacks a replica that some node could take, or has one where it
// should not be.
func (p *planner) wants() bool {
	for i := range p.view.Shards {
		if p.facts.shard(i).Leader != "" && p.kept(i) < p.view.Replicas && len(p.takers(i)) > 0 {
			return true
		}
	}
	return false
}

// level begins one move from a node that has at least two replicas more than another. It returns
// false if there is no such move, or if no more copies may begin.
func (p *planner) level() bool {
	if p.copies >= p.limits.CopiesMax {
		return false
	}
	byLoad := slices.Clone(p.open)
	slices.SortStableFunc(byLoad, func(a, b meta.NodeID) int { return cmp.Compare(p.load[a], p.load[b]) })
	for _, to := range byLoad {
		for k := len(byLoad) - 1; k >= 0; k-- {
			from := byLoad[k]
			if p.load[from]-p.load[to] < 2 {
				break
			}
			if i, ok := p.movable(from, to); ok {
				why := fmt.Sprintf("%s has %d replicas and %s has %d", from, p.load[from], to, p.load[to])
				p.load[from]--
				return p.add(i, to, why)
			}
		}
	}
	return false
}

// movable returns a shard that can move between two nodes, preferably one that the first does not
// lead.
func (p *planner) movable(from, to meta.NodeID) (int, bool) {
	found := -1
	for i := range p.view.Shards {
		s := &p.view.Shards[i]
		if _, going := s.GoingFrom(to); p.taken[i] || going || !s.Has(from) || s.Has(to) || p.kept(i) < p.view.Replicas {
			continue
		}
		if p.facts.shard(i).Leader != from {
			return i, true
		}
		if found < 0 {
			found = i
		}
	}
	return found, found >= 0
}

func (p *planner) step(s Step) {
	s.Was = p.view.Shards[s.Shard].Replicas
	p.taken[s.Shard] = true
	p.result.Steps = append(p.result.Steps, s)
}

// wait records why a wanted change of a shard is not made, if no reason is recorded yet.
func (p *planner) wait(i int, format string, args ...any) {
	if _, said := p.result.Waits[uint32(i)]; !said {
		p.result.Waits[uint32(i)] = fmt.Sprintf(format, args...)
	}
}
