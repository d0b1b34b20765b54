package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/courier"
)

const verbTransfer = "member.transfer"

// TransfersConfig is what leadership is moved with.
type TransfersConfig struct {
	Self    meta.NodeID
	View    func() *meta.View
	Courier *courier.Courier
	// Group returns this node's replica of a group; nil: none.
	Group func(group uint32) Group
}

// Transfers moves the leadership of groups between nodes.
type Transfers struct{ cfg TransfersConfig }

// NewTransfers returns it, and gives its verb to the courier.
func NewTransfers(cfg TransfersConfig) *Transfers {
	t := &Transfers{cfg}
	cfg.Courier.Handle(verbTransfer, t.serve)
	return t
}

// Transfer moves a group's leadership to a node, by id or name, or to the best
// one if to is empty, and returns who was chosen.
func (t *Transfers) Transfer(ctx context.Context, group uint32, to string) (meta.NodeID, error) {
	if v := t.cfg.View(); group != meta.GroupID && uint64(group) >= uint64(len(v.Shards)) {
		return "", ErrNoTarget.With(fmt.Sprintf("there is no shard %d", group))
	}
	return order(ctx, t.cfg.Courier, group, verbTransfer, to)
}

func (t *Transfers) serve(ctx context.Context, group uint32, body []byte) ([]byte, error) {
	var to string
	if err := json.Unmarshal(body, &to); err != nil {
		return nil, ErrBadRequest
	}
	g := t.cfg.Group(group)
	if g == nil || !g.Leads() {
		return nil, courier.ErrNotLeader
	}
	var id meta.NodeID
	if to != "" {
		n, ok := t.cfg.View().Lookup(to)
		if !ok {
			return nil, meta.ErrUnknownNode.With(fmt.Sprintf("the cluster has no node %q", to))
		}
		if n.Drained {
			return nil, ErrNoTarget.With(fmt.Sprintf("node %s is drained; end that first (clusterctl drain %s --off)", n.Name, n.Name))
		}
		id = n.ID
	}
	if id == t.cfg.Self {
		return json.Marshal(id) // it leads already
	}
	target, err := handOver(ctx, g, t.cfg.Self, id, t.cfg.View())
	if err != nil {
		return nil, err
	}
	return json.Marshal(target)
}

// handOver moves the leadership of a group that this node leads to one node,
// or to the best if to is empty.
func handOver(ctx context.Context, g Group, self, to meta.NodeID, view *meta.View) (meta.NodeID, error) {
	peers, index := observe(g, self, time.Now())
	target, err := chooseHeir(peers, g, to, view)
	if err != nil {
		return "", err
	}
	err = g.Change(ctx, Action{Verb: HandOver, ID: target.ID, Addr: target.Addr}, index)
	if err != nil && !g.Leads() {
		err = nil // it happened, though not as it was meant to
	}
	return target.ID, err
}

// chooseHeir returns the server that should lead next: the one asked for, or
// the voter that has most of the log, one that is drained only if there
// is no other.
func chooseHeir(peers []Peer, g Group, to meta.NodeID, view *meta.View) (Peer, error) {
	best, bestMatch, bestDrained := -1, uint64(0), false
	for i, p := range peers {
		if to != "" && p.ID == to {
			return p, fit(p)
		}
		if to != "" || p.Self || fit(p) != nil {
			continue
		}
		n, _ := view.Node(p.ID)
		match := g.Progress(p.ID).Match
		if best < 0 || bestDrained && !n.Drained || bestDrained == n.Drained && match > bestMatch {
			best, bestMatch, bestDrained = i, match, n.Drained
		}
	}
	if best >= 0 {
		return peers[best], nil
	}
	if to != "" {
		return Peer{}, ErrNoTarget.With(fmt.Sprintf("node %s is not a member of the group", to))
	}
	return Peer{}, ErrNoTarget.With("no other voter answers and has caught up")
}

// fit says why a server should not lead.
func fit(p Peer) error {
	switch {
	case !p.Voter:
		return ErrNoTarget.With(fmt.Sprintf("node %s is not a voter yet", p.ID))
	case !p.Alive:
		return ErrNoTarget.With(fmt.Sprintf("node %s does not answer", p.ID))
	case !p.CaughtUp:
		return ErrNoTarget.With(fmt.Sprintf("node %s has not caught up", p.ID))
	}
	return nil
}

// Drain hands over every group in groups that this node leads, before it
// stops. It gives up when ctx ends; the others then elect by themselves.
func Drain(ctx context.Context, self meta.NodeID, groups []Group, view *meta.View) error {
	failed := make([]error, len(groups))
	var all sync.WaitGroup
	for i, g := range groups {
		all.Go(func() { failed[i] = drainOne(ctx, self, g, view) })
	}
	all.Wait()
	return errors.Join(failed...)
}

func drainOne(ctx context.Context, self meta.NodeID, g Group, view *meta.View) error {
	for g.Leads() {
		_, err := handOver(ctx, g, self, "", view)
		if errors.Is(err, ErrNoTarget) {
			return err // alone, or the only one up to date
		}
		if g.Leads() && !sleep(ctx, busyPause) {
			return errors.Join(ctx.Err(), err)
		}
	}
	return nil
}
