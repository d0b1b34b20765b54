package main

import (
	"github.com/spf13/cobra"
)

func newTransfer(opt *options) *cobra.Command {
	var group, to string
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Move the leadership of a shard to another node",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			request := []any{"LOCKSTEP", "TRANSFER", group}
			if to != "" {
				request = append(request, to)
			}
			return opt.orderAndSay(cmd, request...)
		},
	}
	cmd.Flags().StringVar(&group, "shard", "0", `number of the shard, or "meta", or "all"`)
	cmd.Flags().StringVar(&to, "to", "", "name or id of the new leader (default: the node with the most entries)")
	_ = cmd.RegisterFlagCompletionFunc("to", opt.nodeNames)
	_ = cmd.RegisterFlagCompletionFunc("shard", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := opt.status(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(groupsOf(c), "all"), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}
