package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newSecret(opt *options) *cobra.Command {
	return &cobra.Command{
		Use:   "secret rotate",
		Short: "Give the cluster a new secret, without a stop",
		Long: `Give the cluster a new secret, without a stop: the secret that nodes prove to
each other that they know. The node that is told draws a new one and has every
node accept it beside the old one, and when all do, the new one alone.

Every node must answer. Where the change breaks off, both secrets are accepted;
tell the same node again. Nodes that were given their secret by cluster-secret or
cluster-secret-file are not changed from here: change it there.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "rotate" {
				return fmt.Errorf("say what to do with the secret: clusterctl secret rotate")
			}
			return nil
		},
		ValidArgs: []string{"rotate"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opt.orderAndSay(cmd, "LOCKSTEP", "SECRET", "ROTATE")
		},
	}
}
