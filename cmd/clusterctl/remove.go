package main

import (
	"errors"
	"fmt"
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
			request := []any{"LOCKSTEP", "REMOVE", args[0]}
			if force {
				request = append(request, "FORCE")
			}
			return opt.letGoAndSay(cmd, &wait, args[0], request...)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it even if a quorum may be lost")
	sure.flag(cmd)
	wait.flag(cmd)
	return cmd
}

// letGoAndSay orders a node away, waits, and prints what became of it.
func (o *options) letGoAndSay(cmd *cobra.Command, wait *patience, node string, request ...any) error {
	reply, err := o.letGo(cmd, wait, node, request...)
	if reply == "" {
		return err
	}
	return errors.Join(o.say(cmd, reply), err)
}

// letGo orders a node away and waits until every group has let go of it. The
// answer is what the cluster said to the order, "" if it was not given.
func (o *options) letGo(cmd *cobra.Command, wait *patience, node string, request ...any) (string, error) {
	before, err := o.status(cmd.Context())
	if err != nil {
		return "", err
	}
	id := node
	if n := nodeNamed(before, node); n != nil {
		id = n.ID
	}
	reply, err := o.order(cmd.Context(), request...)
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
		return false, strings.Join(append([]string{node + " is leaving"}, c.Waiting()...), "; ")
	})
	if err == nil && waited {
		reply = removedReply(id)
	}
	return reply, err
}

// removedReply is what the cluster says when a node is gone.
func removedReply(id string) string { return id + " was removed" }
