package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/stepper"
)

// Meta is the part of the meta group's client that this package uses.
type Meta interface {
	View() *meta.View
	// Do has the leader of the meta group carry out a command.
	Do(ctx context.Context, c meta.Command) (meta.Result, error)
	// CatchUp returns a view that shows every command that was done before the call.
	CatchUp(ctx context.Context) (*meta.View, error)
}

// ReconcilerConfig is the configuration of a Reconciler.
type ReconcilerConfig struct {
	// GroupID is the group's number.
	GroupID uint32
	Group   Group
	// Self is this node.
	Self meta.NodeID
	Meta Meta
	// LostAfter returns how long a server must have been silent to be Lost. 0 means that it is
	// never Lost. LostAfter may be nil, which means 0.
	LostAfter func() time.Duration
	Log       *slog.Logger
}

const (
	// idlePause is the time between two looks while members and view agree. A Kick ends it.
	idlePause = 2 * time.Second
	// busyPause is the time between two looks while a change is wanted.
	busyPause = 100 * time.Millisecond
	// steadyLooks is for how many looks in a row a non-voter must be close to the end of the log
	// before it may vote.
	steadyLooks = 3
	// changeTimeout bounds one change.
	changeTimeout = 15 * time.Second
	retryFirst    = 100 * time.Millisecond
	retryMax      = 5 * time.Second
)

// Reconciler makes one group's members follow the view while this node leads
// the group.
type Reconciler struct {
	*stepper.Stepper
	cfg ReconcilerConfig
	// steady counts, by server, the looks in a row at which it was close.
	steady map[meta.NodeID]int
	// heard is when each server was last seen alive, or first seen at all.
	heard    map[meta.NodeID]time.Time
	failures int
	waits    atomic.Pointer[string]
}

// NewReconciler returns a reconciler. Run runs it.
func NewReconciler(cfg ReconcilerConfig) *Reconciler {
	return &Reconciler{cfg: cfg, Stepper: stepper.New(), steady: map[meta.NodeID]int{}, heard: map[meta.NodeID]time.Time{}}
}

// Waits returns, in words, why a wanted change is not possible yet. It is empty if no change is
// wanted, or if this node does not lead.
func (r *Reconciler) Waits() string {
	if w := r.waits.Load(); w != nil {
		return *w
	}
	return ""
}

// Run runs the reconciler until ctx ends. A Kick makes it look at once; the node kicks it when the
// view has changed or this node has become the leader.
func (r *Reconciler) Run(ctx context.Context) { r.Stepper.Run(ctx, r.step) }

// step looks once, makes at most one change, and returns the time until the next look.
func (r *Reconciler) step(ctx context.Context) time.Duration {
	view := r.cfg.Meta.View()
	if !view.Created() || !r.cfg.Group.Leads() {
		clear(r.steady)
		clear(r.heard)
		r.setWaits("")
		return idlePause
	}
	peers, index := observe(r.cfg.Group, r.cfg.Self, time.Now())
	r.count(peers)
	r.listen(peers, time.Now())
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := r.report(ctx, view, peers); err != nil {
		return r.failed("cannot report to the meta group", err)
	}
	a := Plan(view, r.cfg.GroupID, peers)
	asked := a.Verb.movesQuorum()
	if asked {
		if err := askAnew(ctx, r.cfg.Group, peers); err != nil {
			return r.failed("cannot ask who is alive", err)
		}
	}
	if a.Verb != Nothing && a.Verb != HandOver {
		// An old view must not decide this. A node that was wanted once may know by now that the
		// group has removed it, and delete data that the group would rely on. An old view may also
		// have an old address, or remove a node that has come back: a node that has been restarted
		// sees the old views again while it reads its log.
		var err error
		if view, err = r.cfg.Meta.CatchUp(ctx); err != nil {
			return r.failed("cannot ask the meta group who is wanted", err)
		}
		if a = Plan(view, r.cfg.GroupID, peers); a.Verb.movesQuorum() && !asked {
			if err := askAnew(ctx, r.cfg.Group, peers); err != nil {
				return r.failed("cannot ask who is alive", err)
			}
			a = Plan(view, r.cfg.GroupID, peers)
		}
	}
	r.setWaits(a.Waits)
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

// count sets CaughtUp only for servers that have been close for steadyLooks.
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

// listen marks the servers as Lost that have been silent for too long.
func (r *Reconciler) listen(peers []Peer, now time.Time) {
	for i := range peers {
		p := &peers[i]
		if last, known := r.heard[p.ID]; p.Alive || !known {
			r.heard[p.ID] = now
		} else if r.cfg.LostAfter != nil {
			after := r.cfg.LostAfter()
			p.Lost = after > 0 && now.Sub(last) >= after
		}
	}
}

// report proposes to the meta group what has happened in this group: a joining node follows, or a
// leaving node or a replica that should go is gone. It proves its leadership first: another leader
// may know better.
func (r *Reconciler) report(ctx context.Context, view *meta.View, peers []Peer) error {
	news := r.news(view, peers)
	if len(news) == 0 {
		return nil
	}
	if err := r.cfg.Group.Confirm(ctx); err != nil {
		return err
	}
	// Another leader may have undone the changes that were seen before.
	servers, _ := r.cfg.Group.Servers()
	gone := func(p Peer) bool {
		return !slices.ContainsFunc(servers, func(s Server) bool { return s.ID == p.ID })
	}
	if len(servers) != len(peers) || slices.ContainsFunc(peers, gone) {
		return errors.New("the members have changed meanwhile")
	}
	for _, c := range news {
		if _, err := r.cfg.Meta.Do(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) news(view *meta.View, peers []Peer) []meta.Command {
	if r.cfg.GroupID == meta.GroupID {
		return metaNews(view, peers)
	}
	var news []meta.Command
	shard := &view.Shards[r.cfg.GroupID]
	for _, g := range shard.Going {
		if !g.LetGo && !isMember(peers, g.Node) {
			news = append(news, &meta.LetGo{Shard: shard.ID, Node: g.Node, Since: g.Since})
		}
	}
	for _, n := range view.Nodes {
		_, told := slices.BinarySearch(n.DetachedFrom, shard.ID)
		if n.State == meta.Leaving && !told && !shard.Has(n.ID) && !isMember(peers, n.ID) {
			news = append(news, &meta.Detach{ID: n.ID, Group: shard.ID})
		}
	}
	return news
}

// metaNews returns the changes that the meta group's leader records in the view.
func metaNews(view *meta.View, peers []Peer) []meta.Command {
	voters := 0
	for _, p := range peers {
		if p.Voter {
			voters++
		}
	}
	var news []meta.Command
	for _, n := range view.Nodes {
		at := slices.IndexFunc(peers, func(p Peer) bool { return p.ID == n.ID })
		switch {
		case n.State == meta.Joining && at >= 0 && (peers[at].Voter || peers[at].CaughtUp && (n.Learner || voters >= MetaVotersMax)):
			news = append(news, &meta.MarkMember{ID: n.ID})
		case n.State == meta.Leaving && at < 0 && view.HasLeftShards(n):
			news = append(news, &meta.Detach{ID: n.ID, Group: meta.GroupID})
		}
	}
	return news
}

func isMember(peers []Peer, id meta.NodeID) bool {
	return slices.ContainsFunc(peers, func(p Peer) bool { return p.ID == id })
}

// failed logs a failure and returns the time until the next attempt, which grows with each failure.
func (r *Reconciler) failed(what string, err error) time.Duration {
	pause := min(retryFirst<<min(r.failures, 10), retryMax)
	r.failures++
	if r.cfg.Group.Leads() {
		r.cfg.Log.Warn(what, "group", GroupName(r.cfg.GroupID), "error", err, "again_in", pause)
	}
	return pause
}

// setWaits stores and logs why a wanted change waits.
func (r *Reconciler) setWaits(waits string) {
	if waits == r.Waits() {
		return
	}
	r.waits.Store(&waits)
	if waits != "" {
		r.cfg.Log.Info("a change of members waits", "group", GroupName(r.cfg.GroupID), "reason", waits)
	}
}

// GroupName is the name of a Raft group for people.
func GroupName(group uint32) string {
	if group == meta.GroupID {
		return "meta"
	}
	return fmt.Sprintf("shard %d", group)
}
