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
	cmd.Flags().StringVar(&group, "shard", "0", `the shard's number, or "meta", or "all"`)
	cmd.Flags().StringVar(&to, "to", "", "name or id of the node that is to lead (default: the one that is furthest)")
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
