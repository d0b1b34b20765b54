package shard

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// changeTimeout bounds one change of membership.
const changeTimeout = 10 * time.Second

// Changes changes the members of a group. prevIndex is the index of the configuration that
// a decision is based on, or 0 for any.
type Changes struct{ group *Group }

// Changes returns the way to change the group's members.
func (g *Group) Changes() Changes { return Changes{g} }

// change carries out a change of configuration, with the read lease off meanwhile. It
// ends with its raft.Raft at the latest, because the library forgets some accepted
// changes when it shuts down.
func (c Changes) change(ctx context.Context, begin func(r *raft.Raft, timeout time.Duration) raft.IndexFuture) error {
	g := c.group
	g.mu.Lock()
	p := g.parts
	g.mu.Unlock()
	resume := g.lease.Suspend()
	return classify(within(ctx, func() error {
		defer resume()
		answer := make(chan error, 1)
		go func() { answer <- begin(p.raft, changeTimeout).Error() }()
		select {
		case err := <-answer:
			return err
		case <-p.stop:
			return raft.ErrRaftShutdown
		}
	}))
}

// AddNonvoter adds a server that receives the log and does not vote, or changes its
// address.
func (c Changes) AddNonvoter(ctx context.Context, id raft.ServerID, addr raft.ServerAddress, prevIndex uint64) error {
	if !c.group.latest.has(id) {
		// Acknowledgements of a former replica of that node do not count for the new one.
		c.group.acks.Forget(id)
	}
	return c.change(ctx, func(r *raft.Raft, t time.Duration) raft.IndexFuture {
		return r.AddNonvoter(id, addr, prevIndex, t)
	})
}

// AddVoter makes a server a voter, or changes a voter's address.
func (c Changes) AddVoter(ctx context.Context, id raft.ServerID, addr raft.ServerAddress, prevIndex uint64) error {
	return c.change(ctx, func(r *raft.Raft, t time.Duration) raft.IndexFuture {
		return r.AddVoter(id, addr, prevIndex, t)
	})
}

// Remove removes a server.
func (c Changes) Remove(ctx context.Context, id raft.ServerID, prevIndex uint64) error {
	return c.change(ctx, func(r *raft.Raft, t time.Duration) raft.IndexFuture {
		return r.RemoveServer(id, prevIndex, t)
	})
}

// Demote makes a voter a learner.
func (c Changes) Demote(ctx context.Context, id raft.ServerID, prevIndex uint64) error {
	return c.change(ctx, func(r *raft.Raft, t time.Duration) raft.IndexFuture {
		return r.DemoteVoter(id, prevIndex, t)
	})
}

// within waits for work that has no context of its own. If ctx ends first, the work
// continues in the background.
func within(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
