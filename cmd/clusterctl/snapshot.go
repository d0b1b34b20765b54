package main

import (
	"github.com/spf13/cobra"
)

func newSnapshot(opt *options) *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot",
		Short: "Let the node at -a write a snapshot of every shard and shorten its log",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opt.orderAndSay(cmd, "LOCKSTEP", "SNAPSHOT")
		},
	}
}
