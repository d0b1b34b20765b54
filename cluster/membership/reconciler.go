package membership

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/cluster/meta"
)

// Meta is what this package needs of the meta group's client.
type Meta interface {
	View() *meta.View
	// Do has a command carried out, by whoever leads the meta group.
	Do(ctx context.Context, c meta.Command) (meta.Result, error)
}

// ReconcilerConfig is what a reconciler is made with.
type ReconcilerConfig struct {
	// GroupID is the group's number.
	GroupID uint32
	Group   Group
	// Self is this node.
	Self meta.NodeID
	Meta Meta
	Log  *slog.Logger
}

const (
	// idlePause is between two looks when members and view agree; a Kick ends it.
	idlePause = 2 * time.Second
	// busyPause is between two looks when something is wanted.
	busyPause = 100 * time.Millisecond
	// steadyLooks is how many looks in a row a non-voter must be close to the
	// end of the log before it may vote.
	steadyLooks = 3
	// changeTimeout bounds one change.
	changeTimeout = 15 * time.Second
	retryFirst    = 100 * time.Millisecond
	retryMax      = 5 * time.Second
)

// Reconciler makes one group's members follow the view while this node leads
// the group.
type Reconciler struct {
	cfg  ReconcilerConfig
	kick chan struct{}
	// steady counts the looks in a row at which a server was close.
	steady   map[meta.NodeID]int
	failures int
	waits    atomic.Pointer[string]
}

// NewReconciler returns a reconciler; Run makes it work.
func NewReconciler(cfg ReconcilerConfig) *Reconciler {
	return &Reconciler{cfg: cfg, kick: make(chan struct{}, 1), steady: map[meta.NodeID]int{}}
}

// Kick makes it look at once: the view has changed, or this node has begun to
// lead. It never blocks.
func (r *Reconciler) Kick() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Waits says in words what is wanted and cannot be done yet; empty if nothing,
// or if this node does not lead.
func (r *Reconciler) Waits() string {
	if w := r.waits.Load(); w != nil {
		return *w
	}
	return ""
}

// Run works until ctx ends.
func (r *Reconciler) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.kick:
		case <-timer.C:
		}
		timer.Reset(r.step(ctx))
	}
}

// step looks once, does at most one change, and says when to look again.
func (r *Reconciler) step(ctx context.Context) time.Duration {
	view := r.cfg.Meta.View()
	if !view.Created() || !r.cfg.Group.Leads() {
		clear(r.steady)
		r.say("")
		return idlePause
	}
	peers, index, err := observe(r.cfg.Group, r.cfg.Self, time.Now())
	if err != nil {
		return r.failed("cannot read the group's members", err)
	}
	r.count(peers)
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := r.report(ctx, view, peers); err != nil {
		return r.failed("cannot report to the meta group", err)
	}
	a := Plan(view, r.cfg.GroupID, peers)
	r.say(a.Waits)
	if a.Verb == Nothing {
		r.failures = 0
		if a.Waits != "" {
			return busyPause
		}
		return idlePause
	}
	r.cfg.Log.Info("changing a group's members", "group", GroupName(r.cfg.GroupID), "action", a.Verb.String(), "node", a.ID, "address", a.Addr)
	if err := r.cfg.Group.Change(ctx, a, index); err != nil {
		return r.failed("a change of the group's members failed", err)
	}
	r.failures = 0
	return busyPause
}

// count turns "close now" into "close for a while".
func (r *Reconciler) count(peers []Peer) {
	for i := range peers {
		p := &peers[i]
		if p.Self || p.Voter {
			continue
		}
		if !p.CaughtUp {
			delete(r.steady, p.ID)
			continue
		}
		r.steady[p.ID]++
		p.CaughtUp = r.steady[p.ID] >= steadyLooks
	}
}

// report tells the meta group what this group has done: that a joining node
// votes, or that a leaving one is gone. Another leader may know better, so
// leadership is proved first.
func (r *Reconciler) report(ctx context.Context, view *meta.View, peers []Peer) error {
	var news []meta.Command
	for _, n := range view.Nodes {
		member := slices.IndexFunc(peers, func(p Peer) bool { return p.ID == n.ID })
		switch {
		case n.State == meta.Joining:
			if r.cfg.GroupID == meta.GroupID && member >= 0 && peers[member].Voter {
				news = append(news, &meta.MarkMember{ID: n.ID})
			}
		case n.State == meta.Leaving && member < 0:
			if _, told := slices.BinarySearch(n.DetachedFrom, r.cfg.GroupID); told {
				continue
			}
			if r.cfg.GroupID != meta.GroupID || view.HasLeftShards(n) {
				news = append(news, &meta.Detach{ID: n.ID, Group: r.cfg.GroupID})
			}
		}
	}
	if len(news) == 0 {
		return nil
	}
	if err := r.cfg.Group.Confirm(ctx); err != nil {
		return err
	}
	for _, c := range news {
		if _, err := r.cfg.Meta.Do(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// failed notes a failure and says when to try again: ever more slowly.
func (r *Reconciler) failed(what string, err error) time.Duration {
	pause := min(retryFirst<<min(r.failures, 10), retryMax)
	r.failures++
	if r.cfg.Group.Leads() {
		r.cfg.Log.Warn(what, "group", GroupName(r.cfg.GroupID), "error", err, "again_in", pause)
	}
	return pause
}

// say keeps and logs what is waited for.
func (r *Reconciler) say(waits string) {
	if waits == r.Waits() {
		return
	}
	r.waits.Store(&waits)
	if waits != "" {
		r.cfg.Log.Info("a change of members waits", "group", GroupName(r.cfg.GroupID), "reason", waits)
	}
}

// GroupName is what people call a Raft group.
func GroupName(group uint32) string {
	if group == meta.GroupID {
		return "meta"
	}
	return fmt.Sprintf("shard %d", group)
}
