package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockstep/node/status"
)

func newTop(opt *options) *cobra.Command {
	var every time.Duration
	var count int
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the nodes at work",
		Long: `Watch the nodes at work: commands, keys, memory, terms and lag, the busiest node
first. A terminal shows one view that is updated. In a pipe the views follow each
other, and with -o json each view is a line. Ctrl-C ends it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return fmt.Errorf("--every is 100ms or more, not %v", every)
			}
			return opt.top(cmd, every, count)
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "time between two views")
	cmd.Flags().IntVar(&count, "count", 0, "number of views after which it ends; with 0 it never does")
	return cmd
}

// These ANSI sequences move the cursor to the upper left corner, and delete from the cursor on.
const (
	ansiHome  = "\x1b[H\x1b[2J"
	ansiClear = "\x1b[J"
)

func (o *options) top(cmd *cobra.Command, every time.Duration, count int) error {
	out := cmd.OutOrStdout()
	screen := false
	if f, ok := out.(*os.File); ok {
		screen = term.IsTerminal(int(f.Fd())) && o.output == outputTable
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var before *status.Cluster
	for shown := 1; ; shown++ {
		var frame bytes.Buffer
		c, err := o.status(cmd.Context())
		switch {
		case cmd.Context().Err() != nil:
			return nil
		case err != nil && count > 0 && shown == count:
			return err
		case err != nil && o.output == outputJSON:
			fmt.Fprintln(stderr(cmd), "clusterctl:", err)
		case err != nil:
			fmt.Fprintln(&frame, err)
		case o.output == outputJSON:
			if err := json.NewEncoder(&frame).Encode(c); err != nil {
				return err
			}
		default:
			printTop(&frame, before, c)
			before = c
		}
		if screen {
			fmt.Fprint(out, ansiHome)
			frame.WriteString(ansiClear)
		}
		if _, err := out.Write(frame.Bytes()); err != nil {
			return err
		}
		if count > 0 && shown == count {
			return nil
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}

// printTop prints one view. before is the previous one, or nil for the first.
func printTop(w io.Writer, before, c *status.Cluster) {
	ops := int64(0)
	for i := range c.Nodes {
		ops += c.Nodes[i].OpsPerSec
	}
	fmt.Fprintf(w, "%s  cluster %.8s  %s  %d ops/s  %d keys\n", time.Now().Format("15:04:05"), c.ClusterID, c.Health, ops, c.Keys())
	for _, reason := range c.Reasons {
		fmt.Fprintln(w, "  -", reason)
	}
	t := newTable(w)
	fmt.Fprintln(t, "NODE\tOPS/S\tCLIENTS\tLEADS\tMAX LAG\tCOMMITS/S\tKEYS\tUSED\tRSS\tUPTIME")
	for _, i := range busiest(c) {
		n := &c.Nodes[i]
		if !n.Reachable {
			fmt.Fprintf(t, "%s\tunreachable\n", n.Name)
			continue
		}
		leads, lag := 0, uint64(0)
		for _, g := range n.Groups {
			if g.Role == "leader" {
				leads++
			}
			lag = max(lag, g.Lag)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", n.Name, n.OpsPerSec, n.Clients, leads, lag, commits(before, n),
			n.Keys, sizeText(n.UsedBytes), sizeText(n.RSSBytes), time.Duration(n.UptimeSec)*time.Second)
	}
	t.Flush()
}

// busiest returns the indexes of the nodes, the busiest first.
func busiest(c *status.Cluster) []int {
	order := make([]int, len(c.Nodes))
	for i := range order {
		order[i] = i
		for j := i; j > 0 && c.Nodes[order[j]].OpsPerSec > c.Nodes[order[j-1]].OpsPerSec; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	return order
}

// commits returns how many entries a node's replicas have committed since the previous view.
func commits(before *status.Cluster, n *status.Node) uint64 {
	if before == nil {
		return 0
	}
	was := nodeNamed(before, n.ID)
	if was == nil {
		return 0
	}
	sum := uint64(0)
	for _, g := range n.Groups {
		if w := was.Group(g.Name); w != nil && g.Committed > w.Committed {
			sum += g.Committed - w.Committed
		}
	}
	return sum
}
