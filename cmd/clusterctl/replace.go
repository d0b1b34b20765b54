package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newReplace(opt *options) *cobra.Command {
	var binary string
	var sure confirmation
	var wait patience
	cmd := &cobra.Command{
		Use:   "replace OLD {NEW | -- lockstepd flags}",
		Short: "Replace a node by a new one",
		Long: `Let a new node take the place of another one, for good.

With NEW, a node that has already joined: each group removes OLD as soon as NEW
votes there, so the quorum stays as it is. OLD may be dead.

With flags for lockstepd behind --: clusterctl starts a node here, under OLD's
name and with an empty data folder. It takes the place of OLD, which must be dead.

  clusterctl replace n2 n4
  clusterctl replace n2 -- --dir /var/lib/lockstep --port 6379`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			// Both are nodes.
			return opt.nodeNames(cmd, args[min(1, len(args)):], word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names, flags := args, []string(nil)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				names, flags = args[:dash], args[dash:]
			}
			here := cmd.ArgsLenAtDash() >= 0
			if len(names) < 1 || here && len(names) != 1 || !here && len(names) != 2 {
				return errors.New("name the old node and the new one, or the old one and, behind --, the flags of a lockstepd to start here")
			}
			if err := sure.ask(cmd, fmt.Sprintf("Replace node %s? Its data folder will never be accepted again.", names[0])); err != nil {
				return err
			}
			if here {
				return opt.becomeReplacement(cmd, binary, names[0], flags)
			}
			return opt.letGoAndSay(cmd, &wait, departure{node: names[0], successor: names[1]})
		},
	}
	binaryFlag(cmd, &binary)
	sure.flag(cmd)
	wait.flag(cmd)
	return cmd
}

// becomeReplacement starts a node under the name of a dead one.
func (o *options) becomeReplacement(cmd *cobra.Command, binary, old string, flags []string) error {
	c, err := o.status(cmd.Context())
	if err != nil {
		return err
	}
	n := nodeNamed(c, old)
	switch {
	case n == nil:
		return refused{fmt.Errorf("the cluster has no node %s", old)}
	case n.Reachable:
		return refused{fmt.Errorf("node %s still answers at %s; stop it first, or let a node of another name join and take its place", n.Name, n.PeerAddr)}
	}
	return o.becomeNode(cmd, binary, []string{"--node-name=" + n.Name, "--replace=yes"}, flags)
}
