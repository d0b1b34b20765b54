package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

func newStatus(opt *options) *cobra.Command {
	var output string
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show nodes, roles, terms and lag",
		Long: `Show nodes, roles, terms and lag.

Exit code: 0 healthy, 1 degraded (a node is missing or behind, every group has
a leader), 2 no quorum (a group has no leader, or no node answers).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return fmt.Errorf("--output is table or json, not %q", output)
			}
			if watch {
				return watchStatus(cmd, opt, output)
			}
			return showStatus(cmd.Context(), cmd.OutOrStdout(), opt, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again every second, until interrupted")
	return cmd
}

func watchStatus(cmd *cobra.Command, opt *options, output string) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	for {
		err := showStatus(ctx, cmd.OutOrStdout(), opt, output)
		var exit exitCode
		if err != nil && !errors.As(err, &exit) {
			fmt.Fprintln(cmd.ErrOrStderr(), err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
			fmt.Fprintln(cmd.OutOrStdout())
		}
	}
}

func showStatus(ctx context.Context, w io.Writer, opt *options, output string) error {
	c, err := opt.status(ctx)
	if err != nil {
		if errors.Is(err, errNoAnswer) {
			fmt.Fprintln(os.Stderr, "clusterctl:", err)
			return exitCode(exitNoQuorum)
		}
		return err
	}
	if output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		if err := enc.Encode(c); err != nil {
			return err
		}
	} else {
		printStatus(w, c)
	}
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
	fmt.Fprintf(w, "cluster %s: %s, %d nodes, %d shards (seen by %s)\n", c.ClusterID, c.Health, len(c.Nodes), c.Shards, c.Seen)
	for _, reason := range c.Reasons {
		fmt.Fprintln(w, "  -", reason)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tCLIENT\tMEMBER\tGROUP\tROLE\tTERM\tEXECUTED\tLAG\tKEYS\tOPS/S\tRSS\tUPTIME")
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !n.Reachable {
			fmt.Fprintf(t, "%s\t%s\t%s\t-\tunreachable\t-\t-\t-\t-\t-\t-\t-\n", n.Name, n.ClientAddr, n.Membership)
			continue
		}
		for j := range n.Groups {
			printGroup(t, n, &n.Groups[j], j == 0)
		}
	}
	t.Flush()
}

func printGroup(w io.Writer, n *status.Node, g *status.Group, first bool) {
	if !first {
		fmt.Fprintf(w, "\t\t\t%s\t%s\t%d\t%d\t%d\t\t\t\t\n", g.Name, g.Role, g.Term, g.Executed, g.Lag)
		return
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", n.Name, n.ClientAddr, n.Membership,
		g.Name, g.Role, g.Term, g.Executed, g.Lag, n.Keys, n.OpsPerSec, sizeText(n.RSSBytes),
		time.Duration(n.UptimeSec)*time.Second)
}

// sizeText prints a number of bytes for people.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1fG", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%dM", n>>20)
	default:
		return fmt.Sprintf("%dK", n>>10)
	}
}
