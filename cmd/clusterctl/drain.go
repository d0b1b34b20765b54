package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

func newDrain(opt *options) *cobra.Command {
	var off bool
	var wait patience
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Let a node hand over its leaderships and take no new ones",
		Long: `Let a node hand over its leaderships and take no new ones, before work on its
machine. If shards have fewer replicas than there are nodes, its replicas also
move to other nodes that can take them. The node keeps serving the clients that
are connected to it. --off ends the drain.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: opt.nodeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			request := []any{"LOCKSTEP", "DRAIN", args[0]}
			if off {
				return opt.orderAndSay(cmd, append(request, "OFF")...)
			}
			reply, err := opt.order(cmd.Context(), request...)
			if err != nil {
				return err
			}
			if wait.wait <= 0 {
				return opt.say(cmd, reply)
			}
			err = wait.follow(cmd, opt, func(c *status.Cluster) (bool, string) { return leadsNothing(c, args[0]) })
			if err != nil {
				return err
			}
			return opt.say(cmd, args[0]+" leads nothing and is given nothing to lead")
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "let the node lead again")
	wait.flag(cmd)
	return cmd
}

// leadsNothing reports whether a drained node leads nothing and another node leads each of its
// groups. If the node does not answer, its leaderships are unknown: then another node must lead
// every group of the cluster.
func leadsNothing(c *status.Cluster, name string) (bool, string) {
	n := nodeNamed(c, name)
	if n == nil {
		return true, ""
	}
	var groups, leads, unled []string
	for _, g := range n.Groups {
		groups = append(groups, g.Name)
	}
	nobody := "nobody leads yet: "
	if !n.Reachable {
		groups, nobody = groupsOf(c), name+" does not answer, and no other leads "
	}
	for _, group := range groups {
		if g := n.Group(group); g != nil && g.Role == "leader" {
			leads = append(leads, status.GroupTitle(group))
		} else if leaderOf(c, group) == nil {
			unled = append(unled, status.GroupTitle(group))
		}
	}
	switch {
	case len(leads) > 0:
		return false, fmt.Sprintf("%s still leads %s", name, strings.Join(append(leads, c.Waiting()...), ", "))
	case len(unled) > 0:
		return false, nobody + strings.Join(unled, ", ")
	}
	return true, ""
}

// groupsOf returns the names of all Raft groups of a cluster.
func groupsOf(c *status.Cluster) []string {
	groups := []string{"meta"}
	for i := range c.Shards {
		groups = append(groups, strconv.Itoa(i))
	}
	return groups
}
