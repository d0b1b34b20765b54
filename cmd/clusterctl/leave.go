package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newLeave(opt *options) *cobra.Command {
	var sure confirmation
	var wait patience
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Let the node at -a leave its cluster for good",
		Long: `Let the node at -a leave its cluster for good.

The node hands over what it leads, every group removes it, and its process ends.
The order is refused if the remaining nodes would be no quorum. Once the node no
longer answers, clusterctl asks the other nodes about the progress.`,
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

// leave removes the node at the first address.
func (o *options) leave(cmd *cobra.Command, wait *patience) error {
	here := *o
	here.addrs = o.addrs[:1]
	c, err := here.status(cmd.Context())
	if err != nil {
		return err
	}
	self := nodeNamed(c, c.Seen)
	if self == nil {
		return refused{fmt.Errorf("node %s at %s no longer belongs to its cluster", c.Seen, o.addrs[0])}
	}
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Reachable && n.ID != self.ID {
			here.addrs = append(here.addrs, n.AddrFor(o.secure.use))
		}
	}
	return here.letGoAndSay(cmd, wait, departure{node: self.ID})
}
