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
		Short: "Remove a node from the cluster for good",
		Long: `Remove a node from the cluster for good, by its name or id.

Use it for a node that will not come back: its data folder is never accepted
again. The order is refused if the nodes that answer would no longer be a quorum,
unless you give --force.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: opt.nodeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := sure.ask(cmd, fmt.Sprintf("Remove node %s? Its data folder will never be accepted again.", args[0])); err != nil {
				return err
			}
			return opt.letGoAndSay(cmd, &wait, departure{node: args[0], force: force})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove the node even if a quorum may be lost")
	sure.flag(cmd)
	wait.flag(cmd)
	return cmd
}

// departure is an order that a node, by name or id, leaves for good.
type departure struct {
	node string
	// successor is the node that takes its place, or "".
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

// done returns the id of the node if the cluster has already removed it as ordered, else "".
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

// letGoAndSay orders the removal of a node, waits, and prints the outcome.
func (o *options) letGoAndSay(cmd *cobra.Command, wait *patience, d departure) error {
	reply, err := o.letGo(cmd, wait, d)
	if reply == "" {
		return err
	}
	return errors.Join(o.say(cmd, reply), err)
}

// letGo orders the removal of a node and waits until every group has removed it. It returns the
// cluster's reply to the order, or "" if the order was not given.
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
		// The node that answered may be the removed one; then it answers no more.
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

// unknownReply is part of the cluster's reply about a node that it does not have.
const unknownReply = "the cluster has no node"

// removedReply is the cluster's reply when a node has been removed.
func removedReply(id string) string { return id + " was removed" }
