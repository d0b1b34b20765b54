package placement

import (
	"fmt"
	"slices"
	"time"

	"lockstep/cluster/meta"
)

// leaderPlan plans changes of leadership.
type leaderPlan struct {
	*planner
	// leads counts the shards that each node leads.
	leads map[meta.NodeID]int
}

// lead plans at most one change of leadership, because each is a pause for the clients of its
// shard.
func (p *planner) lead() {
	l := &leaderPlan{planner: p, leads: map[meta.NodeID]int{}}
	for i := range p.view.Shards {
		if id := p.facts.shard(i).Leader; id != "" {
			l.leads[id]++
		}
	}
	if !l.flee() && !l.limits.Still {
		l.level()
	}
}

// mayLead reports whether a node may be given shards to lead.
func (l *leaderPlan) mayLead(id meta.NodeID) bool {
	f := l.facts.node(id)
	return l.isGood(id) && f.Alive && f.Steady && f.ClockOff == 0
}

// heirs returns the nodes with a replica of a shard that could lead it instead of its leader.
func (l *leaderPlan) heirs(i int) []meta.NodeID {
	f := l.facts.shard(i)
	if l.taken[i] || f.Leader == "" || !f.Steady {
		return nil
	}
	var list []meta.NodeID
	for _, id := range l.view.Shards[i].Replicas {
		if id != f.Leader && f.Votes(id) && l.mayLead(id) {
			list = append(list, id)
		}
	}
	slices.SortStableFunc(list, func(a, b meta.NodeID) int { return l.leads[a] - l.leads[b] })
	return list
}

// flee moves the leadership away from a node that should not have it. A leaving node hands over by
// itself when its group removes it.
func (l *leaderPlan) flee() bool {
	for i := range l.view.Shards {
		from := l.facts.shard(i).Leader
		n, known := l.view.Node(from)
		if !known {
			continue
		}
		why := ""
		switch off := l.facts.node(from).ClockOff; {
		case n.Drained:
			why = fmt.Sprintf("%s is drained", from)
		case off != 0:
			why = fmt.Sprintf("the clock of %s is %v off", from, off.Round(time.Millisecond))
		default:
			continue
		}
		if heirs := l.heirs(i); len(heirs) > 0 {
			l.moveLeader(i, heirs[0], why)
			return true
		}
	}
	return false
}

// level searches a chain of changes from the node that leads most shards to one that leads at least
// two fewer. It plans only the last link: then the node before it has room, and the next plan finds
// a shorter chain.
func (l *leaderPlan) level() {
	for _, from := range l.busiest() {
		if l.chain(from) {
			return
		}
	}
}

// busiest returns the nodes that lead at least two shards, those with most first.
func (l *leaderPlan) busiest() []meta.NodeID {
	var list []meta.NodeID
	for _, n := range l.view.Nodes {
		if l.leads[n.ID] >= 2 {
			list = append(list, n.ID)
		}
	}
	slices.SortStableFunc(list, func(a, b meta.NodeID) int { return l.leads[b] - l.leads[a] })
	return list
}

// chain searches breadth first, so it finds the shortest chain.
func (l *leaderPlan) chain(from meta.NodeID) bool {
	seen := map[meta.NodeID]bool{from: true}
	for queue := []meta.NodeID{from}; len(queue) > 0; queue = queue[1:] {
		for i := range l.view.Shards {
			if l.facts.shard(i).Leader != queue[0] {
				continue
			}
			for _, to := range l.heirs(i) {
				if seen[to] {
					continue
				}
				if l.leads[from]-l.leads[to] >= 2 {
					l.moveLeader(i, to, fmt.Sprintf("%s leads %d shards and %s leads %d", from, l.leads[from], to, l.leads[to]))
					return true
				}
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return false
}

func (l *leaderPlan) moveLeader(i int, to meta.NodeID, why string) {
	l.step(Step{Kind: MoveLeader, Shard: uint32(i), Node: to, Why: why})
}
