package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newLeave(opt *options) *cobra.Command {
	var sure confirmation
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Let the node at -a leave its cluster for good",
		Long: `Let the node at -a leave its cluster for good.

It hands over what it leads, every group lets go of it, and its process ends.
It is refused when the nodes that would be left are no quorum.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := sure.ask(cmd, fmt.Sprintf("Let the node at %s leave the cluster?", opt.addrs[0])); err != nil {
				return err
			}
			one := *opt
			one.addrs = opt.addrs[:1]
			return one.orderAndSay(cmd, "LOCKSTEP", "LEAVE")
		},
	}
	sure.flag(cmd)
	return cmd
}
