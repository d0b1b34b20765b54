package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lockstep/cmd/clusterctl/bench"
	"lockstep/node/status"
)

func newBench(opt *options) *cobra.Command {
	var b bench.Options
	var kill, transfer, only bool
	var sure confirmation
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure throughput and percentiles, also through a change of leader",
		Long: `Measure throughput and percentiles with many connections to all nodes, or with
--only to the nodes at -a. The keys begin with "bench:" and stay in the cluster.

With --transfer, bench hands over the leadership of shard 0 in the middle. With
--kill-leader it kills the leader of shard 0 (SIGKILL) in the middle. That works
only for a node on this machine, and bench asks first.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := b.Validate(); err != nil {
				return err
			}
			if kill && transfer {
				return errors.New("--kill-leader or --transfer, not both")
			}
			if err := opt.aim(cmd, &b, kill, transfer, only, &sure); err != nil {
				return err
			}
			r, err := bench.Run(cmd.Context(), b)
			if r != nil {
				err = errors.Join(opt.print(cmd, r, func() { printBench(cmd.OutOrStdout(), r) }), err)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVarP(&b.Clients, "clients", "c", 50, "number of connections")
	f.DurationVar(&b.Length, "for", 10*time.Second, "how long to measure")
	f.IntVar(&b.Keys, "keys", 10_000, "number of keys")
	f.IntVar(&b.ValueBytes, "value", 64, "size of a value in bytes")
	f.Float64Var(&b.ReadPart, "reads", 0.5, "fraction of calls that read, 0 to 1")
	f.BoolVar(&kill, "kill-leader", false, "kill the leader of shard 0 in the middle")
	f.BoolVar(&transfer, "transfer", false, "hand over the leadership of shard 0 in the middle")
	f.BoolVar(&only, "only", false, "use only the nodes at -a")
	sure.flag(cmd)
	return cmd
}

// aim finds the nodes and what to do in the middle.
func (o *options) aim(cmd *cobra.Command, b *bench.Options, kill, transfer, only bool, sure *confirmation) error {
	c, err := o.status(cmd.Context())
	if err != nil {
		return err
	}
	b.LogStores = logStores(c)
	b.Addrs, b.User, b.Password, b.TLS, b.Prefix = o.addrs, o.user, o.password, o.secure.config, "bench:"
	if !only {
		b.Addrs = nil
		for i := range c.Nodes {
			if c.Nodes[i].Reachable {
				b.Addrs = append(b.Addrs, c.Nodes[i].AddrFor(o.secure.use))
			}
		}
	}
	switch {
	case transfer:
		b.Midway = func(ctx context.Context) (string, error) { return o.order(ctx, "LOCKSTEP", "TRANSFER", "0") }
	case kill:
		leader := leaderOf(c, "0")
		if leader == nil {
			return refused{errors.New("shard 0 has no leader that could be killed")}
		}
		if err := mayKill(leader); err != nil {
			return refused{err}
		}
		if err := sure.ask(cmd, "Kill the leader of shard 0 in the middle? Now it is "+leader.Name+"."); err != nil {
			return err
		}
		b.Midway = o.killLeader
	}
	return nil
}

// logStores names the stores of the nodes' Raft logs, which the time of a write depends on.
func logStores(c *status.Cluster) string {
	var all []string
	for i := range c.Nodes {
		if store := c.Nodes[i].LogStore; store != "" && !slices.Contains(all, store) {
			all = append(all, store)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func leaderOf(c *status.Cluster, group string) *status.Node {
	i := slices.IndexFunc(c.Nodes, func(n status.Node) bool { g := n.Group(group); return g != nil && g.Role == "leader" })
	if i < 0 {
		return nil
	}
	return &c.Nodes[i]
}

// killLeader kills the current leader of shard 0.
func (o *options) killLeader(ctx context.Context) (string, error) {
	c, err := o.status(ctx)
	if err != nil {
		return "", err
	}
	leader := leaderOf(c, "0")
	if leader == nil {
		return "", errors.New("shard 0 has no leader")
	}
	if err := mayKill(leader); err != nil {
		return "", err
	}
	if err := syscall.Kill(leader.PID, syscall.SIGKILL); err != nil {
		return "", fmt.Errorf("kill %s (process %d): %w", leader.Name, leader.PID, err)
	}
	return fmt.Sprintf("%s, the leader of shard 0, was killed", leader.Name), nil
}

// mayKill refuses to kill anything other than a lockstepd of this machine.
func mayKill(n *status.Node) error {
	host, _, err := net.SplitHostPort(n.ClientAddr)
	if err != nil {
		return err
	}
	local := host == "localhost"
	if ip := net.ParseIP(host); ip != nil {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if local = err == nil; local {
			l.Close()
		}
	}
	if !local {
		return fmt.Errorf("%s is at %s, and only a node of this machine can be killed; --transfer works anywhere", n.Name, n.ClientAddr)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n.PID))
	if err != nil || !strings.Contains(string(line), "lockstepd") {
		return fmt.Errorf("process %d of this machine is not node %s", n.PID, n.Name)
	}
	return nil
}

func printBench(w io.Writer, r *bench.Result) {
	fmt.Fprintf(w, "%d calls in %.1f s by %d clients: %.0f calls/s, longest pause %.0f ms; log store %s\n",
		r.Calls, r.Seconds, r.Clients, r.PerSecond, r.LongestPauseMs, r.LogStores)
	if r.Midway != "" {
		fmt.Fprintln(w, "in the middle:", r.Midway)
	}
	t := newTable(w)
	fmt.Fprintln(t, "\tCALLS\tP50\tP90\tP99\tP99.9\tMAX")
	for _, row := range []struct {
		name string
		bench.Times
	}{{"reads", r.Reads}, {"writes", r.Writes}} {
		fmt.Fprintf(t, "%s\t%d\t%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms\n", row.name, row.Calls, row.P50, row.P90, row.P99, row.P999, row.Max)
	}
	t.Flush()
	var words []string
	for word := range r.ErrorReplies { // sorted below
		words = append(words, word)
	}
	slices.Sort(words)
	for _, word := range words {
		fmt.Fprintf(w, "error replies %s: %d\n", word, r.ErrorReplies[word])
	}
	if r.Broken > 0 {
		fmt.Fprintf(w, "broken connections: %d\n", r.Broken)
	}
}
