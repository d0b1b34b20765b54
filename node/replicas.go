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
	"lockstep/engine/command"
	"lockstep/engine/script"
	"lockstep/node/config"
	"lockstep/proto/tracking"
)

// replicas are this node's replicas of shards: those that its folder had when
// it began, and those that come and go as the meta group's view tells. That
// this node has none of a shard is as usual as that it has one.
type replicas struct {
	// Kick makes keep look at the view.
	*stepper.Stepper
	n *Node
	// at is each shard's replica, by number; nil: none is open.
	at []atomic.Pointer[shard.Shard]
	// leads is since when this node leads each shard, in Unix milliseconds; it may
	// lead no more.
	leads []atomic.Int64
}

const (
	// keepPause is between two looks at the view when none was announced.
	keepPause = time.Second
	// reportTimeout bounds what the meta group is told or asked about a replica.
	reportTimeout = 10 * time.Second
	// closeTimeout is how long a replica may take to close before that is said.
	closeTimeout = 30 * time.Second
)

// replica returns this node's replica of a shard; nil: it has none.
func (n *Node) replica(i int) *shard.Shard {
	if n.replicas == nil || i < 0 || i >= len(n.replicas.at) {
		return nil
	}
	return n.replicas.at[i].Load()
}

// shards are the replicas that are open, by number.
func (n *Node) shards() []*shard.Shard {
	if n.replicas == nil {
		return nil
	}
	list := make([]*shard.Shard, 0, len(n.replicas.at))
	for i := range n.replicas.at {
		if s := n.replicas.at[i].Load(); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// programs are the scripts and functions of this node's replica of a shard; nil:
// it has none.
func (n *Node) programs(i int) *command.Programs {
	if s := n.replica(i); s != nil {
		return s.Machine().Programs()
	}
	return nil
}

// knownScripts are the scripts of this node's replica of a shard; nil: it has none.
func (n *Node) knownScripts(i int) *script.Cache {
	if p := n.programs(i); p != nil {
		return &p.Scripts
	}
	return nil
}

// shardCount is the number of the cluster's shards.
func (n *Node) shardCount() int { return n.self.Creation.Shards() }

// openShards opens the replicas that the folder has, all at one time: each
// waits out its lease after a restart. A founder makes all. What else the view
// wants here comes later, and what it does not want any more goes (keep).
func (n *Node) openShards(context.Context) error {
	n.tracking = tracking.New(n.self.Incarnation, n.cfg.Current().TrackingTableMaxKeys)
	n.cfg.OnChange("tracking-table-max-keys", func(s *config.Settings) { n.tracking.SetMaxKeys(s.TrackingTableMaxKeys) })
	n.feeds = newFeeds(n)
	count := n.shardCount()
	n.replicas = &replicas{
		n: n, at: make([]atomic.Pointer[shard.Shard], count), leads: make([]atomic.Int64, count), Stepper: stepper.New(),
	}
	errs := make(chan error, count)
	for i := range count {
		if n.self.Phase != identity.Founding && !slices.Contains(n.self.Groups, uint32(i)) {
			errs <- nil
			continue
		}
		go func() {
			s, err := n.replicas.open(i)
			if err == nil {
				err = n.bootstrap(s.Group())
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
		r.at[i].Store(s)
	}
	return s, err
}

// keep opens and closes replicas until ctx ends.
func (r *replicas) keep(ctx context.Context) {
	r.Run(ctx, func(ctx context.Context) time.Duration {
		view := r.n.machine.View()
		for i := range view.Shards {
			if err := r.follow(ctx, view, i); err != nil && ctx.Err() == nil {
				r.n.log.Warn("a replica is not as the cluster wants it yet", "shard", i, "reason", err)
			}
		}
		return keepPause
	})
}

// follow makes one shard's replica be there or not, as the view tells. A node that
// dies changes nothing more: a replica that could not be closed is at work yet, and
// nobody knows what it has promised.
func (r *replicas) follow(ctx context.Context, view *meta.View, i int) error {
	if err := r.n.dying.Load(); err != nil {
		return *err
	}
	self := r.n.self.ID()
	s := &view.Shards[i]
	going, goes := s.GoingFrom(self)
	switch {
	case goes && going.LetGo:
		return r.drop(ctx, i, going)
	case s.Has(self) && r.at[i].Load() == nil:
		return r.come(ctx, i)
	}
	return nil
}

// come opens a new replica, empty, which the shard's leader fills; but not one
// that an old view wants: after a restart this node goes through those.
func (r *replicas) come(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	view, err := r.n.meta.CatchUp(ctx)
	if err != nil {
		return err
	}
	if !view.Shards[i].Has(r.n.self.ID()) {
		return nil
	}
	r.n.log.Info("a replica comes here", "shard", i)
	s, err := r.open(i)
	if err != nil {
		// A node that cannot keep what the cluster counts on must not go on.
		r.n.die(fmt.Errorf("opening a replica of shard %d: %w", i, err))
		return err
	}
	s.SetActiveExpire(r.n.cfg.Current().ActiveExpire)
	r.n.manager.Load().Attach(uint32(i), membership.NewReplica(s.Group()))
	return nil
}

// drop closes a replica that the shard's group has let go of, deletes its data,
// and tells the meta group. A going that the folder has noted is an old one:
// what is here now came after it.
func (r *replicas) drop(ctx context.Context, i int, going meta.Going) error {
	group := uint32(i)
	if r.n.folder.DroppedSince(group) < going.Since {
		r.n.log.Info("a replica goes from here", "shard", i)
		left, err := r.close(group)
		if err != nil {
			return err
		}
		if err := r.n.folder.Drop(group, going.Since, identity.Pledge(left)); err != nil {
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
	_, err := r.n.meta.Do(ctx, &meta.Dropped{Shard: group, Node: r.n.self.ID(), Since: going.Since})
	return err
}

// close ends a replica, for good: when it returns without an error nothing of
// it is at work, and what it has promised is known.
func (r *replicas) close(group uint32) (left raftio.Pledge, err error) {
	s := r.at[group].Swap(nil)
	if s == nil {
		return left, nil
	}
	r.n.router.Left(int(group))
	r.n.feeds.source.End(int(group))
	r.n.feeds.intake.Told(int(group), s.Queued())
	r.n.feeds.intake.Kick()
	r.n.manager.Load().Release(group)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		// Half of it is closed; only a restart begins anew.
		err = fmt.Errorf("closing the replica of shard %d: %w", group, err)
		r.n.die(err)
		return left, err
	}
	return s.Group().Left(), nil
}

// led notes that this node leads a shard, and has the others be told.
func (r *replicas) led(group uint32) {
	r.leads[group].Store(time.Now().UnixMilli())
	if r.n.serving.Load() {
		r.n.exchange.Kick()
	}
}

// replicaAddrs are the peer addresses of the other nodes that should have a
// replica of a shard.
func (n *Node) replicaAddrs(i int) []string {
	view := n.machine.View()
	if i >= len(view.Shards) {
		return n.peerAddrs() // the view is not there yet
	}
	var addrs []string
	for _, id := range view.Shards[i].Replicas {
		if node, ok := view.Node(id); ok && id != n.self.ID() {
			addrs = append(addrs, node.PeerAddr)
		}
	}
	return addrs
}

// leader is who leads a shard as far as this node knows.
func (n *Node) leader(i int) shard.Leader {
	if n.serving.Load() {
		return n.router.Leader(i)
	}
	if s := n.replica(i); s != nil {
		return s.Leader()
	}
	return shard.Leader{}
}
