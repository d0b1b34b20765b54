package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func newJoin(opt *options) *cobra.Command {
	var binary string
	cmd := &cobra.Command{
		Use:   "join -a ADDR -- [lockstepd flags]",
		Short: "Start a node here that joins the cluster at -a",
		Long: `Start a node here that joins the cluster at -a.

The peer addresses are asked of the cluster; everything behind -- is given to
lockstepd, which takes this process's place. The node comes in as a learner and
is made a voter when it has caught up; clusterctl status shows it.

  clusterctl join -a 10.0.0.1:6379 -- --dir /var/lib/lockstep --node-name n4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := opt.status(cmd.Context())
			if err != nil {
				return err
			}
			var peers []string
			for i := range c.Nodes {
				peers = append(peers, c.Nodes[i].PeerAddr)
			}
			path, err := findBinary(binary)
			if err != nil {
				return err
			}
			argv := append([]string{path, "--join", strings.Join(peers, ",")}, args...)
			fmt.Fprintln(cmd.ErrOrStderr(), strings.Join(argv, " "))
			return syscall.Exec(path, argv, os.Environ())
		},
	}
	cmd.Flags().StringVar(&binary, "binary", "", "the lockstepd to start (default: beside clusterctl, then in PATH)")
	return cmd
}

// findBinary finds lockstepd.
func findBinary(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "lockstepd")
		if info, err := os.Stat(beside); err == nil && !info.IsDir() {
			return beside, nil
		}
	}
	path, err := exec.LookPath("lockstepd")
	if err != nil {
		return "", fmt.Errorf("lockstepd is neither beside clusterctl nor in PATH; name it with --binary")
	}
	return path, nil
}

func newRemove(opt *options) *cobra.Command {
	var force, yes bool
	cmd := &cobra.Command{
		Use:   "remove NODE",
		Short: "Take a node out of the cluster for good",
		Long: `Take a node out of the cluster for good, by its name or id.

Use it for a node that will not come back: its data folder is never accepted
again. It is refused when the nodes that answer would no longer be a quorum,
unless --force is given.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes && !confirmed(cmd, fmt.Sprintf("Remove node %s? Its data folder will never be accepted again.", args[0])) {
				return fmt.Errorf("not removed: answer yes, or pass --yes")
			}
			request := []any{"LOCKSTEP", "REMOVE", args[0]}
			if force {
				request = append(request, "FORCE")
			}
			return opt.order(cmd, request...)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it even if a quorum may be lost")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func newLeave(opt *options) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Let the node at -a leave its cluster for good",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes && !confirmed(cmd, fmt.Sprintf("Let the node at %s leave the cluster?", opt.addrs[0])) {
				return fmt.Errorf("nothing done: answer yes, or pass --yes")
			}
			return opt.order(cmd, "LOCKSTEP", "LEAVE")
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func newTransfer(opt *options) *cobra.Command {
	var group, to string
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Move the leadership of a shard to another node",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			request := []any{"LOCKSTEP", "TRANSFER", group}
			if to != "" {
				request = append(request, to)
			}
			return opt.order(cmd, request...)
		},
	}
	cmd.Flags().StringVar(&group, "shard", "0", `the shard's number, or "meta", or "all"`)
	cmd.Flags().StringVar(&to, "to", "", "name or id of the node that is to lead (default: the one that is furthest)")
	return cmd
}

func newSnapshot(opt *options) *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot",
		Short: "Let the node at -a write a snapshot of every shard and cut its log",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opt.order(cmd, "LOCKSTEP", "SNAPSHOT")
		},
	}
}

// orderTimeout is how long an order may take: nodes wait for a quorum, or
// write a snapshot.
const orderTimeout = 60 * time.Second

// order sends a command that changes something and prints the answer.
func (o *options) order(cmd *cobra.Command, args ...any) error {
	long := *o
	long.timeout = max(o.timeout, orderTimeout)
	ctx, cancel := context.WithTimeout(cmd.Context(), long.timeout)
	defer cancel()
	reply, err := long.ask(ctx, args...)
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), reply)
	return nil
}

// confirmed asks the person at the terminal.
func confirmed(cmd *cobra.Command, question string) bool {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [yes/no] ", question)
	var answer string
	if _, err := fmt.Fscanln(cmd.InOrStdin(), &answer); err != nil {
		return false
	}
	return answer == "yes" || answer == "y"
}
