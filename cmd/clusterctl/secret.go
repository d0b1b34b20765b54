package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newSecret(opt *options) *cobra.Command {
	return &cobra.Command{
		Use:   "secret rotate",
		Short: "Give the cluster a new secret while it runs",
		Long: `Give the cluster a new secret while it runs. The secret is how nodes prove to each
other that they belong to the cluster. The node that gets the order makes a new
one. It first lets every node accept it together with the old one. When all do, it
lets them accept the new one only.

Every node must answer. If the change breaks off, nodes accept both secrets; give
the order to the same node again. A node that has its secret from cluster-secret
or cluster-secret-file is not changed by this command: change it there.`,
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
