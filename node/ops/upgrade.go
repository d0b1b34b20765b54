package ops

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"lockstep/cluster/meta"
	"lockstep/node/config"
	"lockstep/node/status"
)

// raiseEvery is how often the meta group's leader checks whether every node knows a newer cluster
// version.
const raiseEvery = time.Second

// WatchVersion writes the cluster's version into the folder whenever it rises. It also raises the
// version, if this node leads the meta group and the settings allow that.
func (o *Orders) WatchVersion() {
	t := time.NewTicker(raiseEvery)
	defer t.Stop()
	said := ""
	for {
		if err := o.Folder.SawVersion(o.Machine.View().ClusterVersion); err != nil {
			o.Die(fmt.Errorf("the cluster's version could not be noted: %w", err))
			return
		}
		if why := o.raiseByItself(); why != "" && why != said {
			o.Log.Info("the cluster's version is not raised yet", "reason", why)
			said = why
		}
		select {
		case <-t.C:
		case <-o.Ctx.Done():
			return
		}
	}
}

// raiseTimeout bounds the time that raiseByItself takes.
const raiseTimeout = 60 * time.Second

// raiseByItself raises the version if that is this node's task and every node knows the next
// version. Otherwise it returns the reason, or "" if it is not this node's task.
func (o *Orders) raiseByItself() string {
	view := o.Machine.View()
	if !o.Settled() || view.ClusterVersion >= meta.KnownVersion() || !o.MetaGroup.IsLeader() ||
		o.Config.Current().ClusterVersionRaise != config.RaiseAuto {
		return ""
	}
	ctx, cancel := context.WithTimeout(o.Ctx, raiseTimeout)
	defer cancel()
	if err := o.raise(ctx, meta.KnownVersion()); err != nil {
		return err.Error()
	}
	o.Log.Info("the cluster's version was raised", "to", meta.KnownVersion())
	return ""
}

// raise raises the cluster's version, or returns an error that names the node that prevents it.
func (o *Orders) raise(ctx context.Context, to int) error {
	for _, node := range o.Survey.Status(ctx).Nodes {
		if err := standsInTheWay(&node, to); err != nil {
			return err
		}
	}
	_, err := o.Meta.Do(ctx, &meta.RaiseVersion{To: to})
	return err
}

// standsInTheWay returns why a node prevents a raise to a version, or nil. A node that is leaving
// and does not answer is ignored, because it does not come back. A leaving node that answers still
// leads, votes and hands its data over, and would stop in the middle of that.
func standsInTheWay(node *status.Node, to int) error {
	leaving, knows := node.Membership == string(meta.Leaving), node.KnowsVersion
	switch {
	case !node.Reachable && leaving:
	case !node.Reachable:
		return fmt.Errorf("node %s does not answer, so it is not known whether it could go on; start it, or remove it", node.Name)
	case knows < to && leaving:
		return fmt.Errorf("node %s, which is leaving, runs lockstep %s, which knows cluster versions up to %d, not %d; let it leave first",
			node.Name, node.Version, knows, to)
	case knows < to:
		return fmt.Errorf("node %s runs lockstep %s, which knows cluster versions up to %d, not %d; upgrade it first",
			node.Name, node.Version, knows, to)
	}
	return nil
}

// upgradeOrder raises the version to the newest that every node knows, or to the requested one.
func (o *Orders) upgradeOrder(ctx context.Context, args []string) (string, error) {
	view := o.Machine.View()
	to := view.ClusterVersion
	if len(args) == 1 {
		var err error
		if to, err = strconv.Atoi(args[0]); err != nil {
			return "", errors.New("a cluster version is a number")
		}
		if to < view.ClusterVersion {
			return "", fmt.Errorf("the cluster is at version %d already; a version is never taken back", view.ClusterVersion)
		}
	} else {
		to = max(to, o.knownByAll(ctx))
	}
	if to == view.ClusterVersion {
		return fmt.Sprintf("the cluster is at version %d, the newest that all its nodes know", to), nil
	}
	if err := o.raise(ctx, to); err != nil {
		return "", err
	}
	return fmt.Sprintf("the cluster is at version %d now, it was at %d", to, view.ClusterVersion), nil
}

// knownByAll is the newest version that all nodes that answer know, including this one.
func (o *Orders) knownByAll(ctx context.Context) int {
	least := meta.KnownVersion()
	for _, node := range o.Survey.Status(ctx).Nodes {
		if node.Reachable {
			least = min(least, node.KnowsVersion)
		}
	}
	return least
}
