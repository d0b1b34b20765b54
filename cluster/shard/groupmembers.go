package shard

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// Member is one server of a group's latest configuration.
type Member struct {
	ID    raft.ServerID
	Addr  raft.ServerAddress
	Voter bool
}

// Members returns the latest configuration and its index, for the prevIndex of
// a change.
func (g *Group) Members() ([]Member, uint64) {
	latest := g.latest.Load()
	var members []Member
	for _, s := range latest.Servers {
		members = append(members, Member{s.ID, s.Address, s.Suffrage == raft.Voter})
	}
	return members, latest.Index
}

// Voters is the number of voters of the latest configuration.
func (g *Group) Voters() int { return len(g.latest.Load().Voters()) }

// VotersCertain is the least number of voters that the group can have had when the
// committed entries were written. The latest configuration may have one voter more or
// less than the one before, and a quorum of it has everything that was acknowledged
// before only when it is committed itself. An only voter commits the addition of a second
// one by its own vote.
func (g *Group) VotersCertain() int {
	latest := g.latest.Load()
	voters := latest.Voters()
	if g.raft.Load().CommitIndex() < latest.Index || len(voters) == 2 && !g.otherHas(latest) {
		return max(len(voters)-1, 0)
	}
	return len(voters)
}

// otherHas reports, if this node is one of two voters, whether the other one has the log
// up to their configuration: it has acknowledged that entry, or leads.
func (g *Group) otherHas(latest *raftio.Configuration) bool {
	term, leads := g.Leadership()
	if leads {
		return !slices.ContainsFunc(latest.Voters(), func(id raft.ServerID) bool {
			return id != g.cfg.LocalID && g.acks.Match(id, term) < latest.Index
		})
	}
	leader, _ := g.Leader()
	return leader != "" && leader != g.cfg.LocalID || !slices.Contains(latest.Voters(), g.cfg.LocalID)
}

// Short reports whether the group has fewer voters than it needs to accept writes.
func (g *Group) Short() bool {
	if g.cfg.VotersLeast == nil {
		return false
	}
	least := g.cfg.VotersLeast()
	return least > 0 && g.Voters() < least
}

// Votes reports whether this node is a voter of the latest configuration, and so has
// caught up with the group once.
func (g *Group) Votes() bool { return g.latest.votes() }

// Progress is the index up to which a member has acknowledged the log in this term. It
// returns 0 if the member has acknowledged nothing yet.
func (g *Group) Progress(id raft.ServerID) uint64 { return g.acks.Match(id, g.Term()) }

// LastAck is how long ago the newest request was sent that a member has acknowledged in
// this term.
func (g *Group) LastAck(id raft.ServerID) (age time.Duration, ok bool) {
	sent := g.acks.Sent(id, g.Term())
	return raftio.Now() - sent, sent != 0
}

// Sending is how many bytes of a snapshot a member has been sent, and how many there are.
// Both are 0 if none is being sent.
func (g *Group) Sending(id raft.ServerID) (sent, size int64) {
	g.mu.Lock()
	p := g.parts
	g.mu.Unlock()
	return p.trans.Sending(id)
}

// GroupStats is the state of a replica.
type GroupStats struct {
	// Role is leader, follower, candidate or learner.
	Role                                  string
	Term, LastIndex, CommitIndex, Applied uint64
	LeaderID                              raft.ServerID
	LeaderAddr                            raft.ServerAddress
	// LastContact is how long ago the leader was heard. It is 0 on the leader.
	LastContact time.Duration
	Voters      int
}

// Stats returns the state of the replica.
func (g *Group) Stats() GroupStats {
	r := g.raft.Load()
	// Each index may grow while the next one is read, which is never smaller.
	s := GroupStats{Term: r.CurrentTerm(), Applied: r.AppliedIndex()}
	s.CommitIndex = r.CommitIndex()
	s.LastIndex, s.Voters = r.LastIndex(), g.Voters()
	s.LeaderID, s.LeaderAddr = g.Leader()
	switch r.State() {
	case raft.Leader:
		s.Role = "leader"
	case raft.Candidate:
		s.Role = "candidate"
	default:
		s.Role = "learner"
		if g.Votes() {
			s.Role = "follower"
		}
		if at := r.LastContact(); !at.IsZero() {
			s.LastContact = time.Since(at)
		}
	}
	return s
}
