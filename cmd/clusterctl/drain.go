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
		Short: "Let a node give up its leaderships and give it none",
		Long: `Let a node give up its leaderships and give it none, before work on its machine.
Where shards have fewer replicas than there are nodes, its replicas move to
others, too, as far as they can take them. It goes on serving the clients that
are connected to it. --off ends that.`,
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
	cmd.Flags().BoolVar(&off, "off", false, "let it lead again")
	wait.flag(cmd)
	return cmd
}

// leadsNothing tells whether a drained node has given up everything, and all
// that it led is led by another. Of one that does not answer it is not known what
// it leads: then another must lead every group.
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

// groupsOf are the names of all Raft groups of a cluster.
func groupsOf(c *status.Cluster) []string {
	groups := []string{"meta"}
	for i := range c.Shards {
		groups = append(groups, strconv.Itoa(i))
	}
	return groups
}
