package membership

import (
	"fmt"

	"lockstep/cluster/meta"
)

// Peer is one server of a group as its leader sees it.
type Peer struct {
	ID    meta.NodeID
	Addr  string
	Voter bool
	// Self marks the leader itself.
	Self bool
	// Alive: it has answered lately.
	Alive bool
	// CaughtUp: it has been near the end of the log for a while.
	CaughtUp bool
}

// Verb is what an Action does.
type Verb uint8

const (
	// Nothing to do, or nothing that may be done now.
	Nothing Verb = iota
	// Add brings a node in as a non-voter.
	Add
	// Promote makes a non-voter a voter.
	Promote
	// Readdress tells the group a server's new address.
	Readdress
	// Remove takes a server out.
	Remove
	// HandOver moves leadership to another server.
	HandOver
)

var verbs = [...]string{"nothing", "add", "promote", "readdress", "remove", "hand over to"}

func (v Verb) String() string { return verbs[v] }

// Action is one change of a group's members.
type Action struct {
	Verb Verb
	ID   meta.NodeID
	Addr string
	// Voter: a readdressed server is one.
	Voter bool
	// Waits says in words why there is nothing to do though something is
	// wanted; empty when members and view agree.
	Waits string
}

// planner is what Plan works with.
type planner struct {
	view  *meta.View
	group uint32
	peers []Peer
	// voters and alive count the voters, and those that are alive.
	voters, alive int
	waits         string
}

// Plan decides the next step that brings a group's members, as its leader sees
// them, towards the view. It is a pure function.
func Plan(view *meta.View, group uint32, peers []Peer) Action {
	p := planner{view: view, group: group, peers: peers}
	for _, m := range peers {
		if m.Voter {
			p.voters++
			if m.Alive {
				p.alive++
			}
		}
	}
	// Steps that move no quorum come first, and removals of the dead before
	// promotions: {alive, alive, dead} + newcomer needs 2 of 2 in between, the
	// other way round 3 of 4.
	for _, step := range []func() (Action, bool){
		p.readdress, p.removeNonvoter, p.add, p.removeDead, p.promote, p.removeVoter,
	} {
		if a, ok := step(); ok {
			return a
		}
	}
	return Action{Waits: p.waits}
}

// goes tells whether a server should leave the group.
func (p *planner) goes(m Peer) (meta.Node, bool) {
	n, known := p.view.Node(m.ID)
	if !known || n.State.Live() {
		return n, false
	}
	// The meta group keeps a leaving node until all shards have let go, so that
	// it knows where they are as long as it serves.
	return n, p.group != meta.GroupID || p.view.HasLeftShards(n)
}

func (p *planner) readdress() (Action, bool) {
	for _, m := range p.peers {
		n, known := p.view.Node(m.ID)
		if !known || !n.State.Live() || n.PeerAddr == m.Addr {
			continue
		}
		if other, taken := p.at(n.PeerAddr); taken {
			p.wait("%s waits for %s to leave the address %s", m.ID, other.ID, n.PeerAddr)
			continue
		}
		return Action{Verb: Readdress, ID: m.ID, Addr: n.PeerAddr, Voter: m.Voter}, true
	}
	return Action{}, false
}

func (p *planner) removeNonvoter() (Action, bool) {
	for _, m := range p.peers {
		if _, goes := p.goes(m); goes && !m.Voter {
			return Action{Verb: Remove, ID: m.ID}, true
		}
	}
	return Action{}, false
}

func (p *planner) add() (Action, bool) {
	for _, n := range p.view.Nodes {
		if !n.State.Live() || p.has(n.ID) {
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
		n, goes := p.goes(m)
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
		if m.Voter || !known || !n.State.Live() {
			continue
		}
		switch {
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

// removeVoter takes out a voter that is alive, or hands over first if it is
// this leader.
func (p *planner) removeVoter() (Action, bool) {
	for _, m := range p.peers {
		n, goes := p.goes(m)
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

// successorPending tells whether a node that answers should stay until its
// successor can take its place.
func (p *planner) successorPending(n meta.Node) string {
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
		return "" // it cannot come before n goes
	}
	return fmt.Sprintf("%s stays until %s is a voter", n.ID, next.ID)
}

// cannotLose says why a group cannot do without voter m now; empty if it can,
// or if it must.
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

// CannotLose says in words why a group of so many voters cannot lose one, when
// alive counts those that answer without it; empty if it can.
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

// heir is the server to lead next: a voter that stays, answers and is close.
func (p *planner) heir() (Peer, bool) {
	for _, m := range p.peers {
		if _, goes := p.goes(m); !goes && m.Voter && !m.Self && m.Alive && m.CaughtUp {
			return m, true
		}
	}
	return Peer{}, false
}

func (p *planner) has(id meta.NodeID) bool {
	for _, m := range p.peers {
		if m.ID == id {
			return true
		}
	}
	return false
}

// at finds the server at an address.
func (p *planner) at(addr string) (Peer, bool) {
	for _, m := range p.peers {
		if m.Addr == addr {
			return m, true
		}
	}
	return Peer{}, false
}

// wait notes the first reason why something wanted is not done.
func (p *planner) wait(format string, args ...any) {
	if p.waits == "" {
		p.waits = fmt.Sprintf(format, args...)
	}
}

func quorum(voters int) int { return voters/2 + 1 }
