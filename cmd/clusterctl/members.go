package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

func newRemove(opt *options) *cobra.Command {
	var force bool
	var sure confirmation
	var wait patience
	cmd := &cobra.Command{
		Use:   "remove NODE",
		Short: "Take a node out of the cluster for good",
		Long: `Take a node out of the cluster for good, by its name or id.

Use it for a node that will not come back: its data folder is never accepted
again. It is refused when the nodes that answer would no longer be a quorum,
unless --force is given.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: opt.nodeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := sure.ask(cmd, fmt.Sprintf("Remove node %s? Its data folder will never be accepted again.", args[0])); err != nil {
				return err
			}
			return opt.letGoAndSay(cmd, &wait, departure{node: args[0], force: force})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it even if a quorum may be lost")
	sure.flag(cmd)
	wait.flag(cmd)
	return cmd
}

// departure is an order that a node, by name or id, leaves for good.
type departure struct {
	node string
	// successor takes its place; "": nobody does.
	successor string
	force     bool
}

func (d departure) request() []any {
	switch {
	case d.successor != "":
		return []any{"LOCKSTEP", "REPLACE", d.node, d.successor}
	case d.force:
		return []any{"LOCKSTEP", "REMOVE", d.node, "FORCE"}
	}
	return []any{"LOCKSTEP", "REMOVE", d.node}
}

// done is the id of the node if it has gone before, as it was to; "": it has not.
func (d departure) done(c *status.Cluster) string {
	if nodeNamed(c, d.node) != nil {
		return ""
	}
	for _, gone := range slices.Backward(c.Removed) {
		if gone.ID != d.node && gone.Name != d.node {
			continue
		}
		if by := nodeNamed(c, d.successor); d.successor == "" || by != nil && by.ID == gone.ReplacedBy {
			return gone.ID
		}
	}
	return ""
}

// letGoAndSay orders a node away, waits, and prints what became of it.
func (o *options) letGoAndSay(cmd *cobra.Command, wait *patience, d departure) error {
	reply, err := o.letGo(cmd, wait, d)
	if reply == "" {
		return err
	}
	return errors.Join(o.say(cmd, reply), err)
}

// letGo orders a node away and waits until every group has let go of it. The
// answer is what the cluster said to the order, "" if it was not given.
func (o *options) letGo(cmd *cobra.Command, wait *patience, d departure) (string, error) {
	before, err := o.status(cmd.Context())
	if err != nil {
		return "", err
	}
	id := d.node
	if n := nodeNamed(before, d.node); n != nil {
		id = n.ID
	}
	reply, err := o.order(cmd.Context(), d.request()...)
	if isReply(err) && strings.Contains(err.Error(), unknownReply) {
		// The order was given before, and its answer may have been lost.
		if id := d.done(before); id != "" {
			return removedReply(id), nil
		}
	}
	if err != nil {
		return "", err
	}
	if reply == removedReply(id) {
		// The node that was asked may be the one, and tell nothing more.
		return reply, nil
	}
	waited := false
	err = wait.follow(cmd, o, func(c *status.Cluster) (bool, string) {
		if nodeNamed(c, id) == nil {
			return true, ""
		}
		waited = true
		return false, strings.Join(append([]string{d.node + " is leaving"}, c.Waiting()...), "; ")
	})
	if err == nil && waited {
		reply = removedReply(id)
	}
	return reply, err
}

// unknownReply is in what the cluster says of a node that it does not have.
const unknownReply = "the cluster has no node"

// removedReply is what the cluster says when a node is gone.
func removedReply(id string) string { return id + " was removed" }

func newLeave(opt *options) *cobra.Command {
	var sure confirmation
	var wait patience
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Let the node at -a leave its cluster for good",
		Long: `Let the node at -a leave its cluster for good.

It hands over what it leads, every group lets go of it, and its process ends.
It is refused when the nodes that would be left are no quorum. The others are
asked how far it is, once it answers no more.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := sure.ask(cmd, fmt.Sprintf("Let the node at %s leave the cluster?", opt.addrs[0])); err != nil {
				return err
			}
			return opt.leave(cmd, &wait)
		},
	}
	sure.flag(cmd)
	wait.flag(cmd)
	return cmd
}

// leave lets the node at the first address go.
func (o *options) leave(cmd *cobra.Command, wait *patience) error {
	here := *o
	here.addrs = o.addrs[:1]
	c, err := here.status(cmd.Context())
	if err != nil {
		return err
	}
	self := nodeNamed(c, c.Seen)
	if self == nil {
		return refused{fmt.Errorf("node %s at %s belongs to its cluster no more", c.Seen, o.addrs[0])}
	}
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Reachable && n.ID != self.ID {
			here.addrs = append(here.addrs, n.AddrFor(o.secure.use))
		}
	}
	return here.letGoAndSay(cmd, wait, departure{node: self.ID})
}

func newPromote(opt *options) *cobra.Command {
	var wait patience
	cmd := &cobra.Command{
		Use:   "promote NODE",
		Short: "Let a learner vote",
		Long: `Let a learner vote: a node that joined with --learner and has followed every
group without a vote. It becomes a voter in each group when it has caught up.`,
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

// votes tells whether a node votes in every group that it has a replica of.
func votes(c *status.Cluster, name string) (bool, string) {
	n := nodeNamed(c, name)
	switch {
	case n == nil:
		return false, "the cluster has no node " + name
	case !n.Reachable:
		return false, name + " does not answer"
	case n.Learner:
		return false, name + " is a learner still"
	}
	var behind []string
	for _, g := range n.Groups {
		if g.Role == "learner" {
			behind = append(behind, fmt.Sprintf("%s (%d entries behind)", status.GroupTitle(g.Name), g.Lag))
		}
	}
	return len(behind) == 0 && len(n.Groups) > 0, name + " does not vote yet in " + strings.Join(behind, ", ")
}
