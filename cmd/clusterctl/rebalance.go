package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/cluster/placement"
)

// rebalanceSetting says whether the cluster balances itself.
const rebalanceSetting = "rebalance"

func newRebalance(opt *options) *cobra.Command {
	var dry bool
	var replicas int
	var wait patience
	cmd := &cobra.Command{
		Use:   "rebalance",
		Short: "Spread replicas and leaders evenly, or show what would move",
		Long: `Spread replicas and leaders evenly over the nodes, and show the progress. A
cluster does so by itself unless the setting rebalance is no. In that case this
command switches it on until the cluster is balanced. Replicas move one at a
time, and no shard ever has fewer voters than before.

--dry-run prints the steps, in order, and changes nothing. --replicas sets how
many replicas each shard has from now on.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case replicas < 0:
				return fmt.Errorf("--replicas is how many each shard is to have, not %d", replicas)
			case dry && replicas > 0:
				return errors.New("--dry-run or --replicas, not both: the dry run shows the steps for the present number")
			case dry:
				return opt.showPlan(cmd)
			}
			if replicas > 0 {
				if _, err := opt.order(cmd.Context(), "LOCKSTEP", "REPLICAS", replicas); err != nil {
					return err
				}
			}
			err := opt.rebalance(cmd, &wait)
			if err != nil && replicas > 0 {
				err = uncertain{fmt.Errorf("each shard is to have %d replicas from now on; %w", replicas, err)}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show the steps and change nothing")
	cmd.Flags().IntVar(&replicas, "replicas", 0, "number of replicas that each shard is to have; 0 leaves it as it is")
	wait.flag(cmd)
	return cmd
}

func (o *options) placement(ctx context.Context) (*placement.Report, error) {
	var r placement.Report
	return &r, o.askJSON(ctx, &r, "LOCKSTEP", "PLACEMENT")
}

func (o *options) showPlan(cmd *cobra.Command) error {
	r, err := o.placement(cmd.Context())
	if err != nil {
		return err
	}
	return o.print(cmd, r, func() { printPlan(cmd.OutOrStdout(), r) })
}

func printPlan(w io.Writer, r *placement.Report) {
	t := newTable(w)
	fmt.Fprintln(t, "NODE\tSTATE\tREPLICAS\tLEADS")
	for _, n := range r.Nodes {
		state := n.State
		if n.Drained {
			state += ",drained"
		}
		if !n.Alive {
			state += ",silent"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\n", n.Name, state, n.Replicas, n.Leaders)
	}
	t.Flush()
	for _, step := range r.Plan {
		fmt.Fprintf(w, "%s: shard %d: %s (%s)\n", step.Step, step.Shard, step.Node, step.Why)
	}
	for _, s := range underWay(r) {
		fmt.Fprintln(w, s)
	}
	switch {
	case r.Replicas == 0:
		fmt.Fprintln(w, "every node has every shard; set a number of replicas (--replicas) to spread them")
	case r.Balanced:
		fmt.Fprintln(w, "nothing is to be done")
	case r.Still:
		fmt.Fprintln(w, "the setting rebalance is no: moves that only improve the balance wait for `clusterctl rebalance`")
	}
}

// underWay lists the replicas that move and the shards that wait.
func underWay(r *placement.Report) []string {
	var all []string
	for _, s := range r.Shards {
		for _, p := range s.Replicas {
			switch {
			case p.State == placement.StateVoter:
			case p.State == placement.StateCatchingUp && p.SnapshotBytes > 0:
				all = append(all, fmt.Sprintf("shard %d: %s is being sent a snapshot (%.1f of %.1f MB)", s.Shard, p.Node, megabytes(p.SentBytes), megabytes(p.SnapshotBytes)))
			case p.State == placement.StateCatchingUp && s.LastIndex > 0:
				all = append(all, fmt.Sprintf("shard %d: %s is catching up (%d of %d entries)", s.Shard, p.Node, p.Match, s.LastIndex))
			default:
				all = append(all, fmt.Sprintf("shard %d: %s is %s", s.Shard, p.Node, p.State))
			}
		}
		if s.Waits != "" {
			all = append(all, fmt.Sprintf("shard %d waits: %s", s.Shard, s.Waits))
		}
	}
	return all
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

// rebalance lets the cluster balance itself and shows the progress.
func (o *options) rebalance(cmd *cobra.Command, wait *patience) (err error) {
	off, err := o.switchOn(cmd.Context())
	if err != nil {
		return err
	}
	if off && wait.wait > 0 {
		defer func() {
			// This also runs if the wait was interrupted: the setting is the operator's.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), orderTimeout)
			defer cancel()
			_, failed := o.order(ctx, "CONFIG", "SET", rebalanceSetting, "no")
			err = errors.Join(err, failed)
		}()
	}
	if err := o.followPlacement(cmd, wait); err != nil {
		return err
	}
	if wait.wait <= 0 {
		return o.say(cmd, "the cluster balances itself; clusterctl rebalance --dry-run shows what is left")
	}
	return o.say(cmd, "replicas and leaders are spread evenly")
}

// switchOn turns balancing on, and reports whether it was off.
func (o *options) switchOn(ctx context.Context) (wasOff bool, err error) {
	addr, err := o.answering(ctx)
	if err != nil {
		return false, err
	}
	client := o.client(addr)
	defer client.Close()
	now, err := client.ConfigGet(ctx, rebalanceSetting).Result()
	if err != nil {
		return false, fmt.Errorf("%s: %w", addr, err)
	}
	if now[rebalanceSetting] != "no" {
		return false, nil
	}
	_, err = o.order(ctx, "CONFIG", "SET", rebalanceSetting, "yes")
	return true, err
}

// followPlacement waits until the cluster is balanced, and prints what moves. The
// meta group's leader plans, so a node may not know the plan for a while.
func (o *options) followPlacement(cmd *cobra.Command, wait *patience) error {
	return wait.until(cmd, func(ctx context.Context) (bool, string, error) {
		r, err := o.placement(ctx)
		if isReply(err) {
			return false, err.Error(), nil
		}
		if err != nil {
			return false, "", err
		}
		return r.Balanced || r.Replicas == 0, fmt.Sprintf("%d steps left; %s", len(r.Plan), strings.Join(underWay(r), "; ")), nil
	})
}
