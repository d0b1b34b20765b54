package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

func newStatus(opt *options) *cobra.Command {
	var watch bool
	var nodes int
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show nodes, roles, terms and lag",
		Long: `Show nodes, roles, terms and lag.

A new cluster may be healthy while it has only its first node. Give --nodes if all
of them must be there.

A node that is being removed is "leaving". The lines above the table say what it
waits for; the lines below the table list the removed nodes.

Exit code: 0 healthy; 1 degraded (a node is missing or behind, but every group has
a leader); 2 no quorum (a group has no leader, or no node answers).`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return watchStatus(cmd, opt, nodes)
			}
			return showStatus(cmd, opt, nodes)
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes", 0, "number of nodes that there should be; degraded while there are more or fewer")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show the status again every second, until interrupted")
	return cmd
}

// watchEvery is how often a view is refreshed.
const watchEvery = time.Second

func watchStatus(cmd *cobra.Command, opt *options, nodes int) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		err := showStatus(cmd, opt, nodes)
		var exit exitCode
		if err != nil && !errors.As(err, &exit) && cmd.Context().Err() == nil {
			fmt.Fprintln(stderr(cmd), err)
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-tick.C:
			fmt.Fprintln(cmd.OutOrStdout())
		}
	}
}

func showStatus(cmd *cobra.Command, opt *options, nodes int) error {
	c, err := opt.status(cmd.Context())
	if err != nil {
		return err
	}
	expect(c, nodes)
	if err := opt.print(cmd, c, func() { printStatus(cmd.OutOrStdout(), c) }); err != nil {
		return err
	}
	return healthCode(c)
}

// expect marks a cluster as degraded if it does not have the given number of nodes. 0 means any
// number.
func expect(c *status.Cluster, nodes int) {
	if nodes == 0 || len(c.Nodes) == nodes {
		return
	}
	if c.Health == status.Healthy {
		c.Health = status.Degraded
	}
	c.Reasons = append(c.Reasons, fmt.Sprintf("there should be %s, and there are %d", counted(nodes, "node"), len(c.Nodes)))
}

// healthCode is the exit code for a cluster's health.
func healthCode(c *status.Cluster) error {
	switch c.Health {
	case status.Healthy:
		return nil
	case status.Degraded:
		return exitCode(exitDegraded)
	default:
		return exitCode(exitNoQuorum)
	}
}

func printStatus(w io.Writer, c *status.Cluster) {
	fmt.Fprintf(w, "cluster %s: %s, %s, %s, version %d (seen by %s)\n", c.ClusterID, c.Health, counted(len(c.Nodes), "node"), counted(c.Shards, "shard"), c.Version, c.Seen)
	for _, reason := range c.Reasons {
		fmt.Fprintln(w, "  -", reason)
	}
	t := newTable(w)
	fmt.Fprintln(t, "NODE\tCLIENT\tMEMBER\tGROUP\tROLE\tTERM\tEXECUTED\tLAG\tKEYS\tOPS/S\tRSS\tUPTIME")
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !n.Reachable {
			fmt.Fprintf(t, "%s\t%s\t%s\t-\tunreachable\t-\t-\t-\t-\t-\t-\t-\n", n.Name, n.ClientAddr, memberText(n))
			continue
		}
		for j := range n.Groups {
			printGroup(t, n, &n.Groups[j], j == 0)
		}
	}
	t.Flush()
	for _, gone := range c.Removed[max(0, len(c.Removed)-removedShown):] {
		if gone.ReplacedBy != "" {
			fmt.Fprintf(w, "removed: %s, replaced by %s\n", gone.ID, gone.ReplacedBy)
		} else {
			fmt.Fprintf(w, "removed: %s\n", gone.ID)
		}
	}
}

// removedShown is how many removed nodes the table shows, the newest first. The JSON has all that
// the cluster remembers.
const removedShown = 5

func printGroup(w io.Writer, n *status.Node, g *status.Group, first bool) {
	if !first {
		fmt.Fprintf(w, "\t\t\t%s\t%s\t%d\t%d\t%d\t\t\t\t\n", g.Name, g.Role, g.Term, g.Executed, g.Lag)
		return
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", n.Name, n.ClientAddr, memberText(n),
		g.Name, g.Role, g.Term, g.Executed, g.Lag, n.Keys, n.OpsPerSec, sizeText(n.RSSBytes),
		time.Duration(n.UptimeSec)*time.Second)
}

// memberText is a node's membership, and whether it is drained or a learner.
func memberText(n *status.Node) string {
	words := []string{n.Membership}
	if n.Drained {
		words = append(words, "drained")
	}
	if n.Learner {
		words = append(words, "learner")
	}
	return strings.Join(words, ",")
}
