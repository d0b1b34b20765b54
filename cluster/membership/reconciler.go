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

// Meta is what this package needs of the meta group's client.
type Meta interface {
	View() *meta.View
	// Do lets the leader of the meta group carry out a command.
	Do(ctx context.Context, c meta.Command) (meta.Result, error)
	// CatchUp returns a view that shows everything done before the call.
	CatchUp(ctx context.Context) (*meta.View, error)
}

// ReconcilerConfig is what a reconciler is made with.
type ReconcilerConfig struct {
	// GroupID is the group's number.
	GroupID uint32
	Group   Group
	// Self is this node.
	Self meta.NodeID
	Meta Meta
	// LostAfter is for how long a server must have been silent to be Lost; 0:
	// none ever is. nil is 0.
	LostAfter func() time.Duration
	Log       *slog.Logger
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
	*stepper.Stepper
	cfg ReconcilerConfig
	// steady counts the looks in a row at which a server was close.
	steady map[meta.NodeID]int
	// heard is when each server was last seen to answer, or first looked at.
	heard    map[meta.NodeID]time.Time
	failures int
	waits    atomic.Pointer[string]
}

// NewReconciler returns a reconciler; Run makes it work.
func NewReconciler(cfg ReconcilerConfig) *Reconciler {
	return &Reconciler{cfg: cfg, Stepper: stepper.New(), steady: map[meta.NodeID]int{}, heard: map[meta.NodeID]time.Time{}}
}

// Waits says in words what is wanted and cannot be done yet; empty if nothing,
// or if this node does not lead.
func (r *Reconciler) Waits() string {
	if w := r.waits.Load(); w != nil {
		return *w
	}
	return ""
}

// Run works until ctx ends. A kick, when the view has changed or this node has
// begun to lead, makes it look at once.
func (r *Reconciler) Run(ctx context.Context) { r.Stepper.Run(ctx, r.step) }

// step looks once, does at most one change, and says when to look again.
func (r *Reconciler) step(ctx context.Context) time.Duration {
	view := r.cfg.Meta.View()
	if !view.Created() || !r.cfg.Group.Leads() {
		clear(r.steady)
		clear(r.heard)
		r.say("")
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
		// Not who was wanted once: such a node may be told by now that the group has
		// let go of it, and delete what the group would count on. Nor where somebody
		// was once, or who was to go: a node that has been started again goes through
		// the views of the past.
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

// listen finds out which servers have been silent for too long.
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

// report tells the meta group what this group has done: that a joining node
// follows, or that a leaving one or a replica that is not wanted is gone.
// Another leader may know better, so leadership is proved first.
func (r *Reconciler) report(ctx context.Context, view *meta.View, peers []Peer) error {
	news := r.news(view, peers)
	if len(news) == 0 {
		return nil
	}
	if err := r.cfg.Group.Confirm(ctx); err != nil {
		return err
	}
	// What was seen before may have been taken back since, by another leader.
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

// metaNews is what the meta group's leader notes in it.
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
