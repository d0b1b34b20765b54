package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

func newClock(opt *options) *cobra.Command {
	return &cobra.Command{
		Use:   "clock [adopt]",
		Short: "Show the clocks, or set the time of day of each shard to that of most clocks",
		Long: `Show how far each node's clock is from the clocks of a majority of the nodes, and
how far the time of day of each shard is from the clocks of a majority of its
voters.

The time of day of a shard follows its voters' clocks by itself. A difference of
less than clock-offset-max-ms is corrected slowly. A larger one is corrected at
once when it has lasted for two seconds. "adopt" corrects any difference now.

Only the time of day changes. No key is deleted or comes back, and each key keeps
the time that it has left to live. A key that was given a time of day before
(EXPIREAT, SET EXAT) therefore expires earlier or later by the clock, by as much
as the time of day was changed.`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"adopt"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return opt.orderAndSay(cmd, "LOCKSTEP", "CLOCK", "ADOPT")
			}
			c, err := opt.status(cmd.Context())
			if err != nil {
				return err
			}
			v := clockViewOf(c)
			return opt.print(cmd, v, func() { printClocks(cmd.OutOrStdout(), v) })
		},
	}
}

// clockView is what the verb prints.
type clockView struct {
	LimitMs int64       `json:"clock_limit_ms"`
	Nodes   []nodeClock `json:"nodes"`
	Shards  []shardDay  `json:"shards"`
}

type nodeClock struct {
	Node      string  `json:"node"`
	Reachable bool    `json:"reachable"`
	OffMs     float64 `json:"off_ms"`
	Wrong     bool    `json:"wrong"`
}

type shardDay struct {
	Shard  string `json:"shard"`
	Leader string `json:"leader"`
	// AheadMs is how far the time of day is ahead of the clocks of a majority of the voters. It
	// means nothing unless Known is true.
	AheadMs float64 `json:"ahead_ms"`
	Known   bool    `json:"known"`
	// OffsetMs is the time of day minus the log time.
	OffsetMs int64 `json:"day_offset_ms"`
}

func clockViewOf(c *status.Cluster) *clockView {
	v := &clockView{Nodes: []nodeClock{}, Shards: []shardDay{}}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		v.LimitMs = max(v.LimitMs, n.ClockLimitMs)
		v.Nodes = append(v.Nodes, nodeClock{Node: n.Name, Reachable: n.Reachable, OffMs: n.ClockOffMs, Wrong: n.ClockWrong()})
	}
	for _, name := range groupsOf(c)[1:] {
		for i := range c.Nodes {
			if g := c.Nodes[i].Group(name); g != nil && g.Role == "leader" {
				v.Shards = append(v.Shards, shardDay{Shard: name, Leader: c.Nodes[i].Name, AheadMs: g.ClockAheadMs, Known: !g.ClockUnknown, OffsetMs: g.DayOffsetMs})
			}
		}
	}
	return v
}

func printClocks(w io.Writer, v *clockView) {
	t := newTable(w)
	fmt.Fprintln(t, "NODE\tCLOCK")
	for _, n := range v.Nodes {
		said := "as a majority of the nodes say"
		switch {
		case !n.Reachable:
			said = "does not answer"
		case n.OffMs != 0:
			said = aheadText(n.OffMs)
		}
		if n.Wrong {
			said += "; leads only where no other node can"
		}
		fmt.Fprintf(t, "%s\t%s\n", n.Node, said)
	}
	t.Flush()
	fmt.Fprintln(w)
	t = newTable(w)
	fmt.Fprintln(t, "SHARD\tLEADER\tTIME OF DAY\tAFTER THE LOG TIME")
	for _, s := range v.Shards {
		said := aheadText(s.AheadMs)
		if !s.Known {
			said = "no majority of the voters says"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d ms\n", s.Shard, s.Leader, said, s.OffsetMs)
	}
	t.Flush()
}

func aheadText(ms float64) string {
	if ms < 0 {
		return fmt.Sprintf("%.1f ms behind", -ms)
	}
	return fmt.Sprintf("%.1f ms ahead", ms)
}
