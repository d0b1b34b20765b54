package membership

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
)

// Replica makes a node's replica of a Raft group a Group.
type Replica struct{ group *shard.Group }

var _ Group = (*Replica)(nil)

// NewReplica returns g as a Group.
func NewReplica(g *shard.Group) *Replica { return &Replica{g} }

// Leads implements Group.
func (r *Replica) Leads() bool { return r.group.IsLeader() }

// Term implements Group.
func (r *Replica) Term() uint64 { return r.group.Term() }

// Servers implements Group.
func (r *Replica) Servers() ([]Server, uint64) {
	members, index := r.group.Members()
	servers := make([]Server, len(members))
	for i, m := range members {
		servers[i] = Server{ID: meta.NodeID(m.ID), Addr: string(m.Addr), Voter: m.Voter}
	}
	return servers, index
}

// Progress implements Group.
func (r *Replica) Progress(id meta.NodeID) Progress {
	p := Progress{Match: r.group.Progress(raft.ServerID(id))}
	p.SentBytes, p.SnapshotBytes = r.group.Sending(raft.ServerID(id))
	// Take the time first and the age afterwards: if this process stands still in between, the
	// answer must look older than it is, not younger.
	now := time.Now()
	if age, ok := r.group.LastAck(raft.ServerID(id)); ok {
		p.Acked = now.Add(-age)
	}
	return p
}

// LastIndex implements Group.
func (r *Replica) LastIndex() uint64 { return r.group.Stats().LastIndex }

// Confirm implements Group.
func (r *Replica) Confirm(ctx context.Context) error {
	if err := r.group.ConfirmLeadership(ctx, shard.ReadLease); err != nil {
		return err
	}
	_, index := r.group.Members()
	if committed := r.group.Stats().CommitIndex; index > committed {
		return fmt.Errorf("the newest configuration, at %d, is not committed yet (%d is)", index, committed)
	}
	return nil
}

// Change implements Group.
func (r *Replica) Change(ctx context.Context, a Action, index uint64) error {
	id, addr := raft.ServerID(a.ID), raft.ServerAddress(a.Addr)
	switch {
	case a.Verb == Add, a.Verb == Readdress && !a.Voter:
		return r.group.Changes().AddNonvoter(ctx, id, addr, index)
	case a.Verb == Promote, a.Verb == Readdress:
		return r.group.Changes().AddVoter(ctx, id, addr, index)
	case a.Verb == Demote:
		return r.group.Changes().Demote(ctx, id, index)
	case a.Verb == Remove:
		return r.group.Changes().Remove(ctx, id, index)
	case a.Verb == HandOver:
		return r.group.TransferTo(ctx, id)
	default:
		return fmt.Errorf("membership: no such change: %v", a.Verb)
	}
}
