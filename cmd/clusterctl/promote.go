package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

func newPromote(opt *options) *cobra.Command {
	var wait patience
	cmd := &cobra.Command{
		Use:   "promote NODE",
		Short: "Let a learner vote",
		Long: `Let a learner vote: a node that joined with --learner and follows every group
without a vote. It becomes a voter of each group when it has caught up there.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: opt.nodeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			reply, err := opt.order(cmd.Context(), "LOCKSTEP", "PROMOTE", args[0])
			if err != nil {
				return err
			}
			err = wait.follow(cmd, opt, func(c *status.Cluster) (bool, string) { return votes(c, args[0]) })
			if err != nil {
				return err
			}
			return opt.say(cmd, reply)
		},
	}
	wait.flag(cmd)
	return cmd
}

// votes reports whether a node votes in every group of which it has a replica.
func votes(c *status.Cluster, name string) (bool, string) {
	n := nodeNamed(c, name)
	switch {
	case n == nil:
		return false, "the cluster has no node " + name
	case !n.Reachable:
		return false, name + " does not answer"
	case n.Learner:
		return false, name + " is still a learner"
	}
	var behind []string
	for _, g := range n.Groups {
		if g.Role == "learner" {
			behind = append(behind, fmt.Sprintf("%s (%d entries behind)", status.GroupTitle(g.Name), g.Lag))
		}
	}
	return len(behind) == 0 && len(n.Groups) > 0, name + " does not vote yet in " + strings.Join(behind, ", ")
}
