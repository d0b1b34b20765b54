package membership

import (
	"fmt"
	"slices"

	"lockstep/cluster/meta"
)

// Peer is one server of a group as its leader sees it.
type Peer struct {
	ID    meta.NodeID
	Addr  string
	Voter bool
	// Self marks the leader itself.
	Self bool
	// Alive is true if the server has answered within aliveWithin.
	Alive bool
	// CaughtUp is true if the server has been close to the end of the log for a while.
	CaughtUp bool
	// Filled is true while a snapshot is being sent to the server.
	Filled bool
	// Lost is true if the server has been silent for so long that another may take its vote.
	Lost bool
}

// Verb is what an Action does.
type Verb uint8

const (
	// Nothing to do, or nothing that may be done now.
	Nothing Verb = iota
	// Add adds a node as a non-voter.
	Add
	// Promote makes a non-voter a voter.
	Promote
	// Readdress gives the group a server's new address.
	Readdress
	// Remove removes a server.
	Remove
	// HandOver moves leadership to another server.
	HandOver
	// Demote makes a voter a non-voter.
	Demote
)

var verbs = [...]string{"nothing", "add", "promote", "readdress", "remove", "hand over to", "demote"}

// MetaVotersMax is how many nodes vote in the meta group. The others follow it as non-voters, and
// replace voters that leave or are lost. More voters would make commits slower, and heartbeats and
// elections more expensive, for nothing: five can lose two.
const MetaVotersMax = 5

func (v Verb) String() string { return verbs[v] }

// movesQuorum reports whether the verb may change how many votes a quorum needs.
func (v Verb) movesQuorum() bool { return v == Promote || v == Remove || v == Demote }

// Action is one change of a group's members.
type Action struct {
	Verb Verb
	ID   meta.NodeID
	Addr string
	// Voter is true if a readdressed server is a voter.
	Voter bool
	// Waits says in words why a wanted change is not possible now. It is empty if members and view
	// agree.
	Waits string
}

// planner holds the input of Plan and what it has counted.
type planner struct {
	view  *meta.View
	group uint32
	peers []Peer
	// voters counts the voters, alive those of them that are alive, and staying those that need not
	// leave.
	voters, alive, staying int
	waits                  string
}

// Plan decides the next step that brings a group's members, as its leader sees them, closer to the
// view. It is a pure function.
func Plan(view *meta.View, group uint32, peers []Peer) Action {
	p := planner{view: view, group: group, peers: peers}
	for _, m := range peers {
		if m.Voter {
			p.voters++
			if m.Alive {
				p.alive++
			}
			if n, _ := view.Node(m.ID); n.State != meta.Leaving && n.State != meta.Removed {
				p.staying++
			}
		}
	}
	// Steps that do not change the quorum come first. Removals of the dead come before promotions:
	// {alive, alive, dead} + newcomer then needs 2 of 2 in between, in the other order 3 of 4.
	for _, step := range []func() (Action, bool){
		p.readdress, p.removeNonvoter, p.add, p.removeDead, p.promote, p.removeVoter, p.demoteLost, p.yield,
	} {
		if a, ok := step(); ok {
			return a
		}
	}
	return Action{Waits: p.waits}
}

// shouldLeave reports whether a server should leave the group.
func (p *planner) shouldLeave(m Peer) (meta.Node, bool) {
	n, known := p.view.Node(m.ID)
	if p.group != meta.GroupID {
		s := &p.view.Shards[p.group]
		_, going := s.GoingFrom(m.ID)
		return n, !s.Has(m.ID) && (going || known && !n.State.Live())
	}
	// The meta group keeps a leaving node until all shards have removed it, so that the node knows
	// their leaders as long as it serves.
	return n, known && !n.State.Live() && p.view.HasLeftShards(n)
}

// wanted reports whether a node should be a server of the group.
func (p *planner) wanted(n meta.Node) bool {
	if p.group != meta.GroupID {
		return p.view.Shards[p.group].Has(n.ID) && n.State != meta.Removed
	}
	return n.State.Live()
}

func (p *planner) readdress() (Action, bool) {
	for _, m := range p.peers {
		to, moves := p.moves(m)
		if !moves {
			continue
		}
		if other, taken := p.at(to); taken {
			p.wait("%s waits for %s to leave the address %s", m.ID, other.ID, to)
			continue
		}
		return Action{Verb: Readdress, ID: m.ID, Addr: to, Voter: m.Voter}, true
	}
	for _, m := range p.peers {
		if p.inCircle(m) {
			return Action{Verb: Readdress, ID: m.ID, Addr: nowhere(m.ID), Voter: m.Voter}, true
		}
	}
	return Action{}, false
}

// moves returns the address that the view has for a server, and whether it differs from the
// group's.
func (p *planner) moves(m Peer) (to string, moves bool) {
	n, known := p.view.Node(m.ID)
	return n.PeerAddr, known && n.State.Live() && p.wanted(n) && n.PeerAddr != m.Addr
}

// inCircle reports whether a server waits for the address of another, which directly or through
// others waits for the first one's. They have changed places, so one must give up its address
// first.
func (p *planner) inCircle(first Peer) bool {
	m := first
	for range p.peers {
		to, moves := p.moves(m)
		next, taken := p.at(to)
		if !moves || !taken {
			return false
		}
		if next.ID == first.ID {
			return true
		}
		m = next
	}
	return false
}

func (p *planner) removeNonvoter() (Action, bool) {
	for _, m := range p.peers {
		if _, goes := p.shouldLeave(m); goes && !m.Voter {
			return Action{Verb: Remove, ID: m.ID}, true
		}
	}
	return Action{}, false
}

func (p *planner) add() (Action, bool) {
	for _, n := range p.view.Nodes {
		if !p.wanted(n) || !n.State.Live() || p.has(n.ID) {
			continue
		}
		if other, taken := p.at(n.PeerAddr); taken {
			p.wait("%s waits for %s to leave the address %s", n.ID, other.ID, n.PeerAddr)
			continue
		}
		return Action{Verb: Add, ID: n.ID, Addr: n.PeerAddr}, true
	}
	return Action{}, false
}

func (p *planner) removeDead() (Action, bool) {
	for _, m := range p.peers {
		n, goes := p.shouldLeave(m)
		if !goes || !m.Voter || m.Alive || m.Self {
			continue
		}
		if why := p.cannotLose(n, m); why != "" {
			p.wait("%s", why)
			continue
		}
		return Action{Verb: Remove, ID: m.ID}, true
	}
	return Action{}, false
}

func (p *planner) promote() (Action, bool) {
	for _, m := range p.peers {
		n, known := p.view.Node(m.ID)
		if m.Voter || !known || !p.wanted(n) || !n.State.Live() || n.Learner || p.seatsTaken() {
			continue
		}
		switch {
		case m.Filled:
			p.wait("%s is being sent a snapshot", m.ID)
		case !m.Alive:
			p.wait("%s does not answer", m.ID)
		case !m.CaughtUp:
			p.wait("%s is catching up", m.ID)
		case p.alive+1 < quorum(p.voters+1):
			p.wait("%s cannot become a voter: %d of %d voters would be alive, and %d are needed",
				m.ID, p.alive+1, p.voters+1, quorum(p.voters+1))
		default:
			return Action{Verb: Promote, ID: m.ID, Addr: m.Addr}, true
		}
	}
	return Action{}, false
}

// seatsTaken reports whether the meta group has as many voters as it should. Shards have no such
// limit.
func (p *planner) seatsTaken() bool { return p.group == meta.GroupID && p.staying >= MetaVotersMax }

// demoteLost makes a voter of the meta group a non-voter if it has been silent for long and another
// node can vote instead.
func (p *planner) demoteLost() (Action, bool) {
	heir := slices.ContainsFunc(p.peers, func(m Peer) bool {
		n, known := p.view.Node(m.ID)
		return !m.Voter && m.Alive && m.CaughtUp && known && n.State.Live()
	})
	if p.group != meta.GroupID || !heir {
		return Action{}, false
	}
	for _, m := range p.peers {
		if m.Voter && m.Lost && !m.Alive && CannotLose(string(m.ID), p.voters, p.alive) == "" {
			return Action{Verb: Demote, ID: m.ID}, true
		}
	}
	return Action{}, false
}

// removeVoter removes a voter that is alive. If that voter is this leader, it hands over the
// leadership first.
func (p *planner) removeVoter() (Action, bool) {
	for _, m := range p.peers {
		n, goes := p.shouldLeave(m)
		if !goes || !m.Voter || !m.Alive {
			continue
		}
		if why := p.successorPending(n); why != "" {
			p.wait("%s", why)
			continue
		}
		if why := p.cannotLose(n, m); why != "" {
			p.wait("%s", why)
			continue
		}
		if !m.Self {
			return Action{Verb: Remove, ID: m.ID}, true
		}
		if heir, ok := p.heir(); ok {
			return Action{Verb: HandOver, ID: heir.ID, Addr: heir.Addr}, true
		}
		p.wait("nobody is ready to take over the leadership from %s", m.ID)
	}
	return Action{}, false
}

// successorPending returns why a leaving node that answers should stay until its successor can take
// its place, or "".
func (p *planner) successorPending(n meta.Node) string {
	if p.group != meta.GroupID && p.view.Placed() {
		return "" // the placement has taken care of it
	}
	next, known := p.view.Node(n.ReplacedBy)
	if n.Forced || !known || !next.State.Live() {
		return ""
	}
	for _, m := range p.peers {
		if m.ID == next.ID && m.Voter {
			return ""
		}
	}
	if other, taken := p.at(next.PeerAddr); taken && other.ID == n.ID {
		return "" // the successor cannot come before n goes
	}
	return fmt.Sprintf("%s stays until %s is a voter", n.ID, next.ID)
}

// cannotLose returns why a group cannot lose voter m now. It returns "" if the group can, or if the
// removal is forced.
func (p *planner) cannotLose(n meta.Node, m Peer) string {
	if n.Forced && p.voters > 1 {
		return ""
	}
	alive := p.alive
	if m.Alive {
		alive--
	}
	return CannotLose(string(m.ID), p.voters, alive)
}

// CannotLose returns, in words, why a group with that many voters cannot lose one; alive counts the
// voters that answer without it. It returns "" if the group can.
func CannotLose(name string, voters, alive int) string {
	left := voters - 1
	if left < 1 {
		return fmt.Sprintf("%s is the only voter", name)
	}
	if alive >= quorum(left) {
		return ""
	}
	return fmt.Sprintf("without %s, %d of %d voters would be alive, and %d are needed", name, alive, left, quorum(left))
}

// yield hands over the leadership of a drained node as soon as that node has it.
func (p *planner) yield() (Action, bool) {
	for _, m := range p.peers {
		if !m.Self || !p.drained(m) {
			continue
		}
		if heir, ok := p.heir(); ok && !p.drained(heir) {
			return Action{Verb: HandOver, ID: heir.ID, Addr: heir.Addr}, true
		}
		p.wait("%s is drained, and nobody is ready to take over the leadership", m.ID)
	}
	return Action{}, false
}

// drained reports whether a server is drained, so that it should lead nothing.
func (p *planner) drained(m Peer) bool {
	n, known := p.view.Node(m.ID)
	return known && n.Drained
}

// heir returns the server that should lead next: a voter that stays, is alive and is close. It
// returns a drained one only if there is no other.
func (p *planner) heir() (Peer, bool) {
	best, found := Peer{}, false
	for _, m := range p.peers {
		if _, goes := p.shouldLeave(m); goes || !m.Voter || m.Self || !m.Alive || !m.CaughtUp {
			continue
		}
		if !found || p.drained(best) && !p.drained(m) {
			best, found = m, true
		}
	}
	return best, found
}

func (p *planner) has(id meta.NodeID) bool {
	for _, m := range p.peers {
		if m.ID == id {
			return true
		}
	}
	return false
}

// at returns the server with an address.
func (p *planner) at(addr string) (Peer, bool) {
	for _, m := range p.peers {
		if m.Addr == addr {
			return m, true
		}
	}
	return Peer{}, false
}

// wait records why a wanted change is not made, if no reason is recorded yet.
func (p *planner) wait(format string, args ...any) {
	if p.waits == "" {
		p.waits = fmt.Sprintf(format, args...)
	}
}

func quorum(voters int) int { return voters/2 + 1 }
