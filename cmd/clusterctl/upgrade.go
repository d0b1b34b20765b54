package main

import (
	"github.com/spf13/cobra"
)

func newUpgrade(opt *options) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Let the nodes use the formats of a newer version of lockstep",
		Long: `Let the nodes use the formats of a newer version of lockstep: raise the cluster
version to the newest that every node knows. The cluster version never goes down,
and a lockstepd that does not know it refuses to start.

By default this happens by itself once every node runs the newer version. With
CONFIG SET cluster-version-raise manual the cluster waits for this command, so
that you can still roll back a rolling upgrade.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			request := []any{"LOCKSTEP", "UPGRADE"}
			if to != "" {
				request = append(request, to)
			}
			return opt.orderAndSay(cmd, request...)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "cluster version to raise to (default: the newest that every node knows)")
	return cmd
}
