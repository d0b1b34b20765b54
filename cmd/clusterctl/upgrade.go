package main

import (
	"github.com/spf13/cobra"
)

func newUpgrade(opt *options) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Let the nodes use what a newer version of lockstep brings",
		Long: `Let the nodes use what a newer version of lockstep brings: raise the cluster
version to the newest that every node knows. It is never taken back, and a
lockstepd that does not know it refuses to start.

By default this happens by itself once every node runs the newer version. With
CONFIG SET cluster-version-raise manual it waits for this command, so that a
rolling upgrade can still be rolled back.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			request := []any{"LOCKSTEP", "UPGRADE"}
			if to != "" {
				request = append(request, to)
			}
			return opt.orderAndSay(cmd, request...)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the version to raise it to (default: the newest that every node knows)")
	return cmd
}
