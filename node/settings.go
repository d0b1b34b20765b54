package node

import (
	"cmp"
	"context"
	"slices"

	"lockstep/cluster/meta"
	"lockstep/node/config"
)

// setEverywhere puts settings into the meta group; when it returns they are in
// force on this node, and soon on the others.
func (n *Node) setEverywhere(ctx context.Context, pairs []config.Pair) error {
	set := map[string]string{}
	for _, p := range pairs {
		set[p.Name] = p.Value
	}
	if _, err := n.meta.Do(ctx, &meta.SetSettings{Set: set}); err != nil {
		return textOf(err)
	}
	n.applySettings(n.machine.View())
	return nil
}

// applySettings puts into force what the meta group says.
func (n *Node) applySettings(v *meta.View) {
	pairs := make([]config.Pair, 0, len(v.Settings))
	for name, value := range v.Settings {
		pairs = append(pairs, config.Pair{Name: name, Value: value})
	}
	slices.SortFunc(pairs, func(a, b config.Pair) int { return cmp.Compare(a.Name, b.Name) })
	n.cfg.ApplyReplicated(pairs)
}
