package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
	"lockstep/engine/command"
	"lockstep/node/backup"
	"lockstep/node/config"
	"lockstep/node/health"
)

// setEverywhere puts settings into the meta group; when it returns they are in
// force on this node, and soon on the others.
func (n *Node) setEverywhere(ctx context.Context, pairs []config.Pair) error {
	set := &meta.SetSettings{Set: map[string]string{}}
	for _, p := range pairs {
		set.Set[p.Name] = p.Value
	}
	if err := n.Meta.CheckVersion(ctx, set); err != nil {
		return textOf(err)
	}
	if _, err := n.Meta.Do(ctx, set); err != nil {
		return textOf(err)
	}
	n.applySettings(n.Machine.View())
	return nil
}

// applySettings puts into force what the meta group says now: who comes with a view
// may have been overtaken by who came with a newer one.
func (n *Node) applySettings(*meta.View) {
	n.settling.Lock()
	defer n.settling.Unlock()
	v := n.Machine.View()
	pairs := make([]config.Pair, 0, len(v.Settings))
	for name, value := range v.Settings {
		if name != backup.LastSetting {
			pairs = append(pairs, config.Pair{Name: name, Value: value})
		}
	}
	slices.SortFunc(pairs, func(a, b config.Pair) int { return cmp.Compare(a.Name, b.Name) })
	n.cfg.ApplyReplicated(pairs)
}

// learnSettings waits until this node has seen all settings that the meta group had when
// it began. Shards may be led here before. Their logs have the settings of the cluster,
// and this node those of its file as yet: with a maxmemory of that, keys would go.
func (n *Node) learnSettings() {
	t := time.NewTicker(health.Every)
	defer t.Stop()
	for n.catchUpSettings(n.ctx) != nil {
		select {
		case <-t.C:
		case <-n.ctx.Done():
			return
		}
	}
	n.settled.Store(true)
}

// catchUpSettings puts all settings into force that the meta group had when it was called.
func (n *Node) catchUpSettings(ctx context.Context) error {
	_, err := n.Machine.Wait(ctx, (*meta.View).Created)
	if err == nil {
		_, err = n.Meta.CatchUp(ctx)
	}
	if err == nil {
		n.applySettings(nil)
	}
	return err
}

// settle is catchUpSettings for a shard that this node has begun to lead. It may be behind
// in the meta group where it is not in the shard's: with settings that were changed since,
// a maxmemory above all, keys would go.
func (n *Node) settle(ctx context.Context) error {
	if !n.settled.Load() {
		return errUnsettled
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	return n.catchUpSettings(ctx)
}

var errUnsettled = errors.New("the cluster's settings are not known yet")

// knowsSettings tells whether the cluster's settings are in force in the shards that
// this node leads.
func (n *Node) knowsSettings() bool {
	want := n.engineSettings()
	return n.settled.Load() && !slices.ContainsFunc(n.Shards(), func(s *shard.Shard) bool {
		return s.Group().IsLeader() && !s.Group().Short() && s.Machine().Settings() != want
	})
}

// applyVersion brings the cluster's version into the shards' logs.
func (n *Node) applyVersion(v *meta.View) {
	if version := int64(v.ClusterVersion); version != n.version.Swap(version) {
		for _, s := range n.Shards() {
			n.background.run(func() { s.SyncSettings(n.ctx) })
		}
	}
}

// settleMax is how long CONFIG SET waits for the shards of this node.
const settleMax = time.Second

// awaitSettings waits until the limits that this node wants are in force on its
// replicas: the leaders bring them into the shards' logs. A shard without a
// leader gets them later. Then it waits for the keyspace events that are wanted.
func (n *Node) awaitSettings() {
	t := time.NewTicker(time.Millisecond)
	defer t.Stop()
	for deadline := time.Now().Add(settleMax); time.Now().Before(deadline); <-t.C {
		want, settled := n.engineSettings(), true
		for _, s := range n.Shards() {
			settled = settled && s.Machine().Settings() == want
		}
		if settled {
			break
		}
	}
	n.feeds.AwaitEvents()
}

// engineSettings are the limits that this node wants all replicas to have.
func (n *Node) engineSettings() command.Settings {
	s := n.cfg.Current()
	e := s.Engine
	e.ValueBytesMax = s.ProtoMaxBulkLen
	e.EvictionPolicy = int64(command.PolicyNamed(string(s.MaxMemoryPolicy)))
	e.At(n.ClusterVersion())
	return e
}
