package shard

import (
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// roster is the latest configuration of a group, committed or not, as one of its nodes
// sees it.
type roster struct {
	atomic.Pointer[raftio.Configuration]
	local raft.ServerID
}

func (r *roster) init(local raft.ServerID) {
	r.local = local
	r.Store(&raftio.Configuration{})
}

// has reports whether a node is in the configuration.
func (r *roster) has(id raft.ServerID) bool {
	return slices.ContainsFunc(r.Load().Servers, func(s raft.Server) bool { return s.ID == id })
}

// votes reports whether this node is a voter.
func (r *roster) votes() bool { return slices.Contains(r.Load().Voters(), r.local) }

// alone reports whether this node is the only voter, and returns the index of the
// configuration.
func (r *roster) alone() (index uint64, alone bool) {
	latest := r.Load()
	return latest.Index, slices.Equal(latest.Voters(), []raft.ServerID{r.local})
}

// voterAt is the address of a voter.
func (r *roster) voterAt(id raft.ServerID) (addr raft.ServerAddress, votes bool) {
	for _, s := range r.Load().Servers {
		if s.ID == id && s.Suffrage == raft.Voter {
			return s.Address, true
		}
	}
	return "", false
}
