package node

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

// raiseEvery is how often the meta group's leader looks whether every node
// knows a newer cluster version.
const raiseEvery = time.Second

// watchVersion writes the cluster's version into the folder as it rises, and
// raises it where this node leads the meta group and is to do so by itself.
func (n *Node) watchVersion() {
	t := time.NewTicker(raiseEvery)
	defer t.Stop()
	said := ""
	for {
		if err := n.Folder.SawVersion(n.Machine.View().ClusterVersion); err != nil {
			n.die(fmt.Errorf("the cluster's version could not be noted: %w", err))
			return
		}
		if why := n.raiseByItself(); why != "" && why != said {
			n.log.Info("the cluster's version is not raised yet", "reason", why)
			said = why
		}
		select {
		case <-t.C:
		case <-n.ctx.Done():
			return
		}
	}
}

// raiseByItself raises the version if that is this node's task and every node
// knows the next one; else it says why not, or nothing.
func (n *Node) raiseByItself() string {
	view := n.Machine.View()
	if !n.settled.Load() || view.ClusterVersion >= meta.KnownVersion() || !n.MetaGroup.IsLeader() ||
		n.cfg.Current().ClusterVersionRaise != config.RaiseAuto {
		return ""
	}
	ctx, cancel := context.WithTimeout(n.ctx, startTimeout)
	defer cancel()
	if err := n.raise(ctx, meta.KnownVersion()); err != nil {
		return err.Error()
	}
	n.log.Info("the cluster's version was raised", "to", meta.KnownVersion())
	return ""
}

// raise raises the cluster's version, or says which node stands in the way.
func (n *Node) raise(ctx context.Context, to int) error {
	for _, node := range n.survey.Status(ctx).Nodes {
		if err := standsInTheWay(&node, to); err != nil {
			return err
		}
	}
	_, err := n.Meta.Do(ctx, &meta.RaiseVersion{To: to})
	return err
}

// standsInTheWay says why the cluster may not be raised to a version yet for the sake of
// a node. One that is leaving and does not answer is on no way back; one that answers
// still leads, votes and gives its data away, and would end in the middle of that.
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

// upgradeOrder raises the version to the newest that every node knows, or to
// the one that is asked for.
func (n *Node) upgradeOrder(ctx context.Context, args []string) (string, error) {
	view := n.Machine.View()
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
		to = max(to, n.knownByAll(ctx))
	}
	if to == view.ClusterVersion {
		return fmt.Sprintf("the cluster is at version %d, the newest that all its nodes know", to), nil
	}
	if err := n.raise(ctx, to); err != nil {
		return "", err
	}
	return fmt.Sprintf("the cluster is at version %d now, it was at %d", to, view.ClusterVersion), nil
}

// knownByAll is the newest version that every node knows that answers, this one among
// them.
func (n *Node) knownByAll(ctx context.Context) int {
	least := meta.KnownVersion()
	for _, node := range n.survey.Status(ctx).Nodes {
		if node.Reachable {
			least = min(least, node.KnowsVersion)
		}
	}
	return least
}

// joining is this node as it asks to be taken in.
func (n *Node) joining(s *config.Settings) meta.Node {
	me := n.me()
	me.Learner = s.Learner
	return me
}
