package placement

import (
	"cmp"
	"fmt"
	"slices"

	"lockstep/cluster/meta"
)

// planner is what Plan works with.
type planner struct {
	view   *meta.View
	facts  *Facts
	limits Limits

	// good are the nodes that may have replicas in the long run, open those of
	// them that can take one now; both ordered by id.
	good, open []meta.NodeID
	// load counts the replicas of each node as it will be when what is under way
	// has ended.
	load map[meta.NodeID]int
	// extra is, per shard, the replica that it should lose; empty: none.
	extra []meta.NodeID
	// copies counts the shards with a replica on its way.
	copies int
	// taken are the shards that have a step, or a change under way.
	taken  []bool
	result Result
}

// Plan decides what to do next, so that every shard has its replicas on nodes
// that answer and both replicas and leaders are spread evenly. It is a pure
// function; its steps are for different shards and may be carried out together.
func Plan(view *meta.View, facts *Facts, limits Limits) Result {
	p := &planner{
		view: view, facts: facts, limits: limits, load: map[meta.NodeID]int{},
		taken: make([]bool, len(view.Shards)), extra: make([]meta.NodeID, len(view.Shards)), result: Result{Waits: map[uint32]string{}},
	}
	if !view.Created() || !view.Placed() {
		p.result.Balanced = p.allStay()
		return p.result
	}
	p.look()
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
	// Replicas that are missing come before beauty.
	if !limits.Still && !p.wants() {
		for p.level() {
		}
	}
	p.lead()
	p.result.Balanced = len(p.result.Steps) == 0 && len(p.result.Moving) == 0 && len(p.result.Waits) == 0 && p.allStay()
	return p.result
}

// allStay reports whether nobody is coming or leaving.
func (p *planner) allStay() bool {
	return !slices.ContainsFunc(p.view.Nodes, func(n meta.Node) bool { return n.State != meta.Member })
}

// look sorts the nodes, finds the shards on which something is under way, and
// counts.
func (p *planner) look() {
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

// underWay reports whether a shard must be left alone: its group is changing, or
// has no leader who could tell.
func (p *planner) underWay(i int) bool {
	s, f := &p.view.Shards[i], p.facts.shard(i)
	if f.Leader == "" {
		p.wait(i, "shard %d has no leader", i)
		return true
	}
	if p.arriving(i) != "" {
		// One that will never vote need not wait for it: to give that up moves no
		// quorum, and the one that arrives may take long, or be dead as well.
		return p.voteless(i, true) == ""
	}
	return slices.ContainsFunc(s.Going, func(g meta.Going) bool { return !g.LetGo && f.has(g.Node) && !p.heldUp(i, g.Node) })
}

// heldUp reports whether a replica that is to go waits for one that is missing: the group
// cannot do without it, for another one's node has died meanwhile.
func (p *planner) heldUp(i int, id meta.NodeID) bool {
	why := p.cannotLose(i, id)
	if why == "" || p.kept(i) >= p.view.Replicas {
		return false
	}
	p.wait(i, "%s", why)
	return true
}

// arriving finds the wanted replica that does not vote yet and will.
func (p *planner) arriving(i int) meta.NodeID { return p.voteless(i, false) }

// voteless finds a wanted replica that does not vote and should, of a hopeless node
// or of another. A learner has one where replicas were on every node before.
func (p *planner) voteless(i int, hopeless bool) meta.NodeID {
	f := p.facts.shard(i)
	for _, id := range p.view.Shards[i].Replicas {
		if n, _ := p.view.Node(id); !n.Learner && !f.Votes(id) && p.hopeless(id) == hopeless {
			return id
		}
	}
	return ""
}

// hopeless reports whether a replica that does not vote yet had better be given
// up: its node leaves or has been away for a while.
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

// kept counts the replicas of a shard that are where they may stay.
func (p *planner) kept(i int) int {
	n := 0
	for _, id := range p.view.Shards[i].Replicas {
		if p.isGood(id) {
			n++
		}
	}
	return n
}

// takers are the nodes that could take a replica of a shard now, the best
// first: the successor of a leaving node, then the one that has fewest.
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

// surplus finds the replica that a shard should lose; empty: none now.
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

// cameInPlace reports whether a leaving node's successor waits at its address,
// where it cannot be reached before the old one has gone.
func (p *planner) cameInPlace(n meta.Node) bool {
	next, ok := p.view.Node(n.ReplacedBy)
	return ok && next.State.Live() && next.PeerAddr == n.PeerAddr
}

// heaviest is the good replica on the node that has most; of equals one that
// does not lead, and the last. Where one does not answer, all others are needed:
// for a while nothing is given up, for it may be back soon, and then that one.
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

// drop takes a surplus replica away, if the others can do without it.
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

// cannotLose says why a shard cannot do without a node's replica now.
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

// fill adds a replica where one is missing.
func (p *planner) fill(i int) {
	if p.kept(i) >= p.view.Replicas {
		return
	}
	list := p.takers(i)
	if len(list) == 0 {
		// Fewer nodes than replicas is a cluster that is still small; a replica on
		// a node that should not have it is worth a word.
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

// add wants a replica on a node, if not too many are on their way.
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

// wants reports whether any shard lacks a replica that somebody could take, or
// has one where it should not be.
func (p *planner) wants() bool {
	for i := range p.view.Shards {
		if p.facts.shard(i).Leader != "" && p.kept(i) < p.view.Replicas && len(p.takers(i)) > 0 {
			return true
		}
	}
	return false
}

// level begins one move from a node that has at least two replicas more than
// another. It returns false when there is none, or no more may be begun.
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

// movable finds a shard that can move between two nodes, rather one that the
// first does not lead.
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

// wait notes the first reason why something wanted for a shard is not done.
func (p *planner) wait(i int, format string, args ...any) {
	if _, said := p.result.Waits[uint32(i)]; !said {
		p.result.Waits[uint32(i)] = fmt.Sprintf(format, args...)
	}
}
