package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/raftio"
	"lockstep/cluster/shard"
	"lockstep/cluster/stepper"
	"lockstep/node/config"
	"lockstep/node/relay"
	"lockstep/proto/tracking"
)

// replicas are this node's replicas of shards: those that its folder had when the node started, and
// those that come and go with the meta group's view. A node often has no replica of a shard.
type replicas struct {
	// Kick makes keep look at the view.
	*stepper.Stepper
	n *Node
	// leads holds, for each shard, since when this node leads it, in Unix milliseconds. The value
	// stays when the node no longer leads.
	leads []atomic.Int64
}

const (
	// keepPause is the time between two looks at the view if no change is announced.
	keepPause = time.Second
	// reportTimeout bounds a request to the meta group about a replica.
	reportTimeout = 10 * time.Second
	// closeTimeout is how long a replica may take to close before the node reports an error.
	closeTimeout = 30 * time.Second
)

// openShards opens the replicas that the folder has, all at the same time, because each one waits
// out its lease after a restart. A founder creates all shards. keep opens other replicas that the
// view wants here later, and closes those that it no longer wants.
func (n *Node) openShards(context.Context) error {
	n.tracking = tracking.New(n.Self.Incarnation, n.Config.Current().TrackingTableMaxKeys)
	n.Config.OnChange("tracking-table-max-keys", func(s *config.Settings) { n.tracking.SetMaxKeys(s.TrackingTableMaxKeys) })
	n.feeds = relay.NewFeeds(relay.Facts{Member: n.Member, Tracking: n.tracking, Events: n.events, Panics: n.panics.Peers, Ctx: n.ctx})
	count := n.ShardCount()
	n.MakeRoom()
	n.replicas = &replicas{
		n: n, leads: make([]atomic.Int64, count), Stepper: stepper.New(),
	}
	errs := make(chan error, count)
	for i := range count {
		if n.Self.Phase != identity.Founding && !slices.Contains(n.Self.Groups, uint32(i)) {
			errs <- nil
			continue
		}
		go func() {
			s, err := n.replicas.open(i)
			if err == nil {
				err = n.Bootstrap(s.Group())
			}
			errs <- err
		}()
	}
	var failed error
	for range count {
		failed = errors.Join(failed, <-errs)
	}
	return failed
}

func (r *replicas) open(i int) (*shard.Shard, error) {
	s, err := shard.Open(r.n.shardConfig(uint32(i)))
	if err == nil {
		r.n.SetReplica(i, s)
	}
	return s, err
}

// keep opens and closes replicas until ctx ends.
func (r *replicas) keep(ctx context.Context) {
	r.Run(ctx, func(ctx context.Context) time.Duration {
		view := r.n.Machine.View()
		for i := range view.Shards {
			if err := r.follow(ctx, view, i); err != nil && ctx.Err() == nil {
				r.n.Log.Warn("a replica is not as the cluster wants it yet", "shard", i, "reason", err)
			}
		}
		return keepPause
	})
}

// follow opens or closes one shard's replica, as the view wants. A node that is dying changes
// nothing more: a replica that could not be closed is still working, and its promises are unknown.
func (r *replicas) follow(ctx context.Context, view *meta.View, i int) error {
	if err := r.n.dying.Load(); err != nil {
		return *err
	}
	self := r.n.Self.ID()
	s := &view.Shards[i]
	going, goes := s.GoingFrom(self)
	switch {
	case goes && going.LetGo:
		return r.drop(ctx, i, going)
	case s.Has(self) && r.n.Replica(i) == nil:
		return r.openNew(ctx, i)
	}
	return nil
}

// openNew opens a new, empty replica, which the shard's leader fills. It first catches up with the
// meta group, because a restarted node also applies old views, which may want a replica that has
// gone since.
func (r *replicas) openNew(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	view, err := r.n.Meta.CatchUp(ctx)
	if err != nil {
		return err
	}
	if !view.Shards[i].Has(r.n.Self.ID()) {
		return nil
	}
	r.n.Log.Info("a replica comes here", "shard", i)
	s, err := r.open(i)
	if err != nil {
		// A node that cannot keep a replica on which the cluster counts must not go on.
		r.n.die(fmt.Errorf("opening a replica of shard %d: %w", i, err))
		return err
	}
	s.SetActiveExpire(r.n.Config.Current().ActiveExpire)
	r.n.Manager.Load().Attach(uint32(i), membership.NewReplica(s.Group()))
	return nil
}

// drop closes a replica that the shard's group has released, deletes its data, and tells the meta
// group. If the folder has recorded this going already, the replica that is here now came after it
// and stays.
func (r *replicas) drop(ctx context.Context, i int, going meta.Going) error {
	group := uint32(i)
	if r.n.Folder.DroppedSince(group) < going.Since {
		r.n.Log.Info("a replica goes from here", "shard", i)
		left, err := r.close(group)
		if err != nil {
			return err
		}
		if err := r.n.Folder.Drop(group, going.Since, identity.Pledge(left)); err != nil {
			r.n.die(err)
			return err
		}
		if r.n.journal != nil {
			if err := r.n.journal.Drop(group); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	_, err := r.n.Meta.Do(ctx, &meta.Dropped{Shard: group, Node: r.n.Self.ID(), Since: going.Since})
	return err
}

// close ends a replica for good. If it returns without an error, nothing of the replica is running
// any more, and left is what it has promised.
func (r *replicas) close(group uint32) (left raftio.Pledge, err error) {
	s := r.n.RemoveReplica(int(group))
	if s == nil {
		return left, nil
	}
	r.n.Router.Left(int(group))
	r.n.feeds.Source.End(int(group))
	r.n.feeds.Consumer.Told(int(group), s.Queued())
	r.n.feeds.Consumer.Kick()
	r.n.Manager.Load().Release(group)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		// The replica is half closed, and only a restart can repair that.
		err = fmt.Errorf("closing the replica of shard %d: %w", group, err)
		r.n.die(err)
		return left, err
	}
	return s.Group().Left(), nil
}

// led records that this node leads a shard, and makes the exchange tell the other nodes.
func (r *replicas) led(group uint32) {
	r.leads[group].Store(time.Now().UnixMilli())
	if r.n.Serving.Load() {
		r.n.exchange.Kick()
	}
}
