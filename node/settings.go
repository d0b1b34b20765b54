package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
	"lockstep/engine/command"
	"lockstep/node/backup"
	"lockstep/node/config"
	"lockstep/node/health"
	"lockstep/node/member"
)

// replicated holds the settings and the version that the whole cluster has in common. The meta
// group stores them, and each node puts them into force.
type replicated struct {
	*member.Member
	*lifetime
	// awaitEvents waits, for a limited time, until this node receives the wanted keyspace events.
	awaitEvents func()
	// version is the last cluster version that was passed to the shards.
	version atomic.Int64
	// settling is held while the meta group's settings are put into force. settled is set once all
	// settings that the meta group had when this node started are in force.
	settling sync.Mutex
	settled  atomic.Bool
}

// setEverywhere puts settings into the meta group. When it returns they are in force on this node,
// and soon on the others.
func (r *replicated) setEverywhere(ctx context.Context, pairs []config.Pair) error {
	set := &meta.SetSettings{Set: map[string]string{}}
	for _, p := range pairs {
		set.Set[p.Name] = p.Value
	}
	if err := r.Meta.CheckVersion(ctx, set); err != nil {
		return textOf(err)
	}
	if _, err := r.Meta.Do(ctx, set); err != nil {
		return textOf(err)
	}
	r.applySettings(r.Machine.View())
	return nil
}

// applySettings puts the current settings of the meta group into force. It ignores the view of the
// caller, because another caller with a newer view may have been faster.
func (r *replicated) applySettings(*meta.View) {
	r.settling.Lock()
	defer r.settling.Unlock()
	v := r.Machine.View()
	pairs := make([]config.Pair, 0, len(v.Settings))
	for name, value := range v.Settings {
		if name != backup.LastSetting {
			pairs = append(pairs, config.Pair{Name: name, Value: value})
		}
	}
	slices.SortFunc(pairs, func(a, b config.Pair) int { return cmp.Compare(a.Name, b.Name) })
	r.Config.ApplyReplicated(pairs)
}

// learnSettings waits until this node has applied all settings that the meta group had when the
// node started. The node may lead shards before that. Their logs have the cluster's settings, but
// the node still has those of its file, and a smaller maxmemory from there would evict keys.
func (r *replicated) learnSettings() {
	t := time.NewTicker(health.Every)
	defer t.Stop()
	for r.catchUpSettings(r.ctx) != nil {
		select {
		case <-t.C:
		case <-r.ctx.Done():
			return
		}
	}
	r.settled.Store(true)
}

// catchUpSettings puts into force all settings that the meta group had at the time of the call.
func (r *replicated) catchUpSettings(ctx context.Context) error {
	_, err := r.Machine.Wait(ctx, (*meta.View).Created)
	if err == nil {
		_, err = r.Meta.CatchUp(ctx)
	}
	if err == nil {
		r.applySettings(nil)
	}
	return err
}

// catchUpAsLeader runs catchUpSettings for a shard that this node has begun to lead. The node may be behind
// in the meta group's log though it is not in the shard's. With outdated settings, above all
// maxmemory, it would evict keys.
func (r *replicated) catchUpAsLeader(ctx context.Context) error {
	if !r.settled.Load() {
		return errUnsettled
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	return r.catchUpSettings(ctx)
}

var errUnsettled = errors.New("the cluster's settings are not known yet")

// knowsSettings reports whether the cluster's settings are in force in the shards that this node
// leads.
func (r *replicated) knowsSettings() bool {
	want := r.engineSettings()
	return r.settled.Load() && !slices.ContainsFunc(r.Shards(), func(s *shard.Shard) bool {
		return s.Group().IsLeader() && !s.Group().Short() && s.Machine().Settings() != want
	})
}

// applyVersion writes the cluster's version into the shards' logs.
func (r *replicated) applyVersion(v *meta.View) {
	if version := int64(v.ClusterVersion); version != r.version.Swap(version) {
		for _, s := range r.Shards() {
			r.background.Go(func() { s.SyncSettings(r.ctx) })
		}
	}
}

// awaitSettingsMax is how long CONFIG SET waits for the shards of this node.
const awaitSettingsMax = time.Second

// awaitSettings waits until the limits that this node wants are in force on its replicas. The
// leaders write them into the shards' logs, so a shard without a leader gets them later. Then it
// waits for the wanted keyspace events.
func (r *replicated) awaitSettings() {
	t := time.NewTicker(time.Millisecond)
	defer t.Stop()
	for deadline := time.Now().Add(awaitSettingsMax); time.Now().Before(deadline); <-t.C {
		want, current := r.engineSettings(), true
		for _, s := range r.Shards() {
			current = current && s.Machine().Settings() == want
		}
		if current {
			break
		}
	}
	r.awaitEvents()
}

// engineSettings are the limits that this node wants all replicas to have.
func (r *replicated) engineSettings() command.Settings {
	s := r.Config.Current()
	e := s.Engine
	e.ValueBytesMax = s.ProtoMaxBulkLen
	e.EvictionPolicy = int64(command.PolicyNamed(string(s.MaxMemoryPolicy)))
	e.At(r.ClusterVersion())
	return e
}

// open starts to pass cluster-wide settings to the meta group, and to apply the meta group's
// settings on this node.
func (r *replicated) open() {
	r.Config.ReplicateWith(func(pairs []config.Pair) error {
		ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
		defer cancel()
		return r.setEverywhere(ctx, pairs)
	})
	r.Config.OnWarning(func(w config.Warning) { r.Log.Warn(w.String()) })
	r.Machine.OnChange(r.applySettings)
	r.Machine.OnChange(r.applyVersion)
	r.applySettings(r.Machine.View())
	r.applyVersion(r.Machine.View())
}

// textOf is the error reply for settings that were refused, or that may or may not be in force.
func textOf(err error) error {
	var refusal *meta.Refusal
	if errors.As(err, &refusal) {
		return fmt.Errorf("ERR CONFIG SET failed - %w", err)
	}
	return fmt.Errorf("INDETERMINATE the settings may have been changed: %w", err)
}
