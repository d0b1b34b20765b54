package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
)

const (
	verbTransfer = "member.transfer"
	verbLed      = "member.led"
)

// led is the leader of a group and its term.
type led struct {
	Node meta.NodeID `json:"node"`
	Term uint64      `json:"term"`
}

// transferRequest orders a leader to hand over the leadership of one term. A late copy finds
// another term and does nothing.
type transferRequest struct {
	To   string `json:"to,omitempty"`
	Term uint64 `json:"term"`
}

// TransfersConfig is the configuration of Transfers.
type TransfersConfig struct {
	Self      meta.NodeID
	View      func() *meta.View
	LeaderRPC *leaderrpc.Client
	// Group returns this node's replica of a group, or nil.
	Group func(group uint32) Group
	// ClockOff is Config.ClockOff.
	ClockOff func(id meta.NodeID) time.Duration
}

// Transfers moves the leadership of groups between nodes.
type Transfers struct{ cfg TransfersConfig }

// NewTransfers returns Transfers and registers its verbs with the leaderrpc.Client.
func NewTransfers(cfg TransfersConfig) *Transfers {
	t := &Transfers{cfg}
	cfg.LeaderRPC.Handle(verbTransfer, t.serve)
	cfg.LeaderRPC.Handle(verbLed, t.serveLed)
	return t
}

// Transfer moves a group's leadership to a node, by id or name, or to the best one if to is empty.
// It returns the new leader.
func (t *Transfers) Transfer(ctx context.Context, group uint32, to string) (meta.NodeID, error) {
	if v := t.cfg.View(); group != meta.GroupID && uint64(group) >= uint64(len(v.Shards)) {
		return "", ErrNoTarget.With(fmt.Sprintf("there is no shard %d", group))
	}
	first, err := t.led(ctx, group)
	for now := first; err == nil; now, err = t.led(ctx, group) {
		if to == "" && now.Node != first.Node {
			return now.Node, nil // another node leads, as was ordered
		}
		id, err := order(ctx, t.cfg.LeaderRPC, group, verbTransfer, transferRequest{to, now.Term})
		if !errors.Is(err, ErrLedAnew) {
			return id, err
		}
	}
	return "", err
}

// led asks a group's leader for its id and term.
func (t *Transfers) led(ctx context.Context, group uint32) (l led, err error) {
	body, err := t.cfg.LeaderRPC.Do(ctx, group, verbLed, nil)
	if err == nil {
		err = json.Unmarshal(body, &l)
	}
	return l, err
}

// leads returns this node's replica of a group that it leads, and the term.
func (t *Transfers) leads(group uint32) (Group, uint64, error) {
	g := t.cfg.Group(group)
	if g == nil {
		return nil, 0, leaderrpc.ErrNotLeader
	}
	for term := g.Term(); g.Leads(); term = g.Term() {
		if g.Term() == term {
			return g, term, nil
		}
	}
	return nil, 0, leaderrpc.ErrNotLeader
}

func (t *Transfers) serveLed(_ context.Context, group uint32, _ []byte) ([]byte, error) {
	_, term, err := t.leads(group)
	if err != nil {
		return nil, err
	}
	return json.Marshal(led{t.cfg.Self, term})
}

func (t *Transfers) serve(ctx context.Context, group uint32, body []byte) ([]byte, error) {
	var req transferRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, ErrBadRequest
	}
	g, term, err := t.leads(group)
	if err != nil {
		return nil, err
	}
	to := req.To
	var id meta.NodeID
	if to != "" {
		n, ok := t.cfg.View().Lookup(to)
		if !ok {
			return nil, meta.ErrUnknownNode.With(fmt.Sprintf("the cluster has no node %q", to))
		}
		if n.Drained {
			return nil, ErrNoTarget.With(fmt.Sprintf("node %s is drained; end that first (clusterctl drain %s --off)", n.Name, n.Name))
		}
		if off := t.cfg.clockOff(n.ID); off != 0 && group != meta.GroupID {
			return nil, ErrNoTarget.With(fmt.Sprintf("the clock of node %s is %v off; set it first", n.Name, off.Round(time.Millisecond)))
		}
		id = n.ID
	}
	if id == t.cfg.Self {
		return json.Marshal(id) // it already leads
	}
	if req.Term != term {
		return nil, ErrLedAnew
	}
	target, err := handOver(ctx, g, t.cfg.Self, id, t.cfg.unsuited())
	if err != nil {
		return nil, err
	}
	return json.Marshal(target)
}

func (c *TransfersConfig) clockOff(id meta.NodeID) time.Duration {
	if c.ClockOff == nil {
		return 0
	}
	return c.ClockOff(id)
}

// unsuited returns the nodes that should lead only if no other node can: drained ones, and those with a wrong clock.
func (c *TransfersConfig) unsuited() func(id meta.NodeID) bool {
	view := c.View()
	return func(id meta.NodeID) bool {
		n, _ := view.Node(id)
		return n.Drained || c.clockOff(id) != 0
	}
}

// handOver moves the leadership of a group that this node leads to one node, or to the best one if
// to is empty.
func handOver(ctx context.Context, g Group, self, to meta.NodeID, unsuited func(meta.NodeID) bool) (meta.NodeID, error) {
	peers, index := observe(g, self, time.Now())
	target, err := chooseHeir(peers, g, to, unsuited)
	if err != nil {
		return "", err
	}
	err = g.Change(ctx, Action{Verb: HandOver, ID: target.ID, Addr: target.Addr}, index)
	if err != nil && !g.Leads() {
		err = nil // another node leads, though not by this transfer
	}
	return target.ID, err
}

// chooseHeir returns the server that should lead next: to, if it is set, else the voter that has
// most of the log. It chooses an unsuited voter only if there is no other.
func chooseHeir(peers []Peer, g Group, to meta.NodeID, unsuited func(meta.NodeID) bool) (Peer, error) {
	best, bestMatch, bestUnsuited := -1, uint64(0), false
	for i, p := range peers {
		if to != "" && p.ID == to {
			return p, fit(p)
		}
		if to != "" || p.Self || fit(p) != nil {
			continue
		}
		bad, match := unsuited(p.ID), g.Progress(p.ID).Match
		if best < 0 || bestUnsuited && !bad || bestUnsuited == bad && match > bestMatch {
			best, bestMatch, bestUnsuited = i, match, bad
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

// fit returns why a server should not lead, or nil.
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

// drain hands over every group in groups that this node leads, before the node stops. It gives up
// when ctx ends; the remaining groups then elect new leaders by themselves.
func (t *Transfers) drain(ctx context.Context, groups []Group) error {
	failed := make([]error, len(groups))
	var all sync.WaitGroup
	for i, g := range groups {
		all.Go(func() { failed[i] = t.drainOne(ctx, g) })
	}
	all.Wait()
	return errors.Join(failed...)
}

func (t *Transfers) drainOne(ctx context.Context, g Group) error {
	for g.Leads() {
		_, err := handOver(ctx, g, t.cfg.Self, "", t.cfg.unsuited())
		if errors.Is(err, ErrNoTarget) {
			return err // this node is alone, or no other is up to date
		}
		if g.Leads() && !sleep(ctx, busyPause) {
			return errors.Join(ctx.Err(), err)
		}
	}
	return nil
}
