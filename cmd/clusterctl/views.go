package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

// view makes a verb that shows a part of the status. asJSON selects the part.
func view(opt *options, use, short string, asJSON func(*status.Cluster) any, asText func(io.Writer, *status.Cluster)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := opt.status(cmd.Context())
			if err != nil {
				return err
			}
			return opt.print(cmd, asJSON(c), func() { asText(cmd.OutOrStdout(), c) })
		},
	}
}

func newNodes(opt *options) *cobra.Command {
	return view(opt, "nodes", "List the nodes", func(c *status.Cluster) any { return c.Nodes }, printNodes)
}

func printNodes(w io.Writer, c *status.Cluster) {
	t := newTable(w)
	fmt.Fprintln(t, "NODE\tID\tMEMBER\tCLIENT\tPEER\tVERSION\tREPLICAS\tLEADS\tKEYS\tUSED\tRSS\tUPTIME")
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !n.Reachable {
			fmt.Fprintf(t, "%s\t%s\t%s,unreachable\t%s\t%s\t\t\t\t\t\t\t\n", n.Name, n.ID, memberText(n), n.ClientAddr, n.PeerAddr)
			continue
		}
		replicas, leads := 0, 0
		for _, g := range n.Groups {
			if g.Name == "meta" {
				continue
			}
			replicas++
			if g.Role == "leader" {
				leads++
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", n.Name, n.ID, memberText(n), n.ClientAddr, n.PeerAddr, n.Version,
			replicas, leads, n.Keys, sizeText(n.UsedBytes), sizeText(n.RSSBytes), time.Duration(n.UptimeSec)*time.Second)
	}
	t.Flush()
}

// shardView is one shard in the output of `shards`.
type shardView struct {
	status.Shard
	// Members are the replicas, as reported by their nodes.
	Members []replicaView `json:"members"`
}

type replicaView struct {
	Node string `json:"node"`
	status.Group
}

func newShards(opt *options) *cobra.Command {
	return view(opt, "shards", "List the shards and their replicas", func(c *status.Cluster) any { return shardViews(c) }, printShards)
}

func shardViews(c *status.Cluster) []shardView {
	views := make([]shardView, len(c.Layout))
	for i, s := range c.Layout {
		views[i] = shardView{Shard: s, Members: []replicaView{}}
		for j := range c.Nodes {
			if g := c.Nodes[j].Group(fmt.Sprint(s.ID)); g != nil {
				views[i].Members = append(views[i].Members, replicaView{c.Nodes[j].Name, *g})
			}
		}
	}
	return views
}

func printShards(w io.Writer, c *status.Cluster) {
	t := newTable(w)
	fmt.Fprintln(t, "SHARD\tSLOTS\tNODE\tROLE\tTERM\tCOMMITTED\tEXECUTED\tLAG")
	for _, s := range shardViews(c) {
		head := fmt.Sprintf("%d\t%d-%d", s.ID, s.FirstSlot, s.LastSlot)
		if len(s.Members) == 0 {
			fmt.Fprintf(t, "%s\tnobody answers\t\t\t\t\t\n", head)
		}
		for _, m := range s.Members {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\n", head, m.Node, m.Role, m.Term, m.Committed, m.Executed, m.Lag)
			head = "\t"
		}
	}
	t.Flush()
}

func newSlots(opt *options) *cobra.Command {
	return view(opt, "slots", "List which shard and which nodes hold which hash slots", func(c *status.Cluster) any { return c.Layout }, printSlots)
}

func printSlots(w io.Writer, c *status.Cluster) {
	t := newTable(w)
	fmt.Fprintln(t, "SLOTS\tCOUNT\tSHARD\tLEADER\tREPLICAS")
	for _, s := range c.Layout {
		leader := s.Leader
		if leader == "" {
			leader = "nobody"
		}
		fmt.Fprintf(t, "%d-%d\t%d\t%d\t%s\t%s\n", s.FirstSlot, s.LastSlot, int(s.LastSlot)-int(s.FirstSlot)+1, s.ID, leader, strings.Join(s.Replicas, " "))
	}
	t.Flush()
}
