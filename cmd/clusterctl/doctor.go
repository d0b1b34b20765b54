package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lockstep/cmd/clusterctl/doctor"
	"lockstep/node/status"
)

// examineTimeout is how long the nodes may take to examine their machines.
const examineTimeout = 60 * time.Second

func newDoctor(opt *options) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Examine the cluster and its machines, and say what to do",
		Long: `Examine the cluster and its machines, and say what to do. The doctor looks at
quorums at risk, nodes that are missing or behind, how long the disks take to
sync, disk space, clocks, versions, limits of open files, memory, the kernel's
settings, certificates, and the age of the newest backup.

A finding is "ill" (in danger now), "risk" (one failure away) or "advice".
Exit code: 0 nothing but advice; 1 a finding that is a risk or ill; 2 no quorum,
or no node answers.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := opt.status(cmd.Context())
			if err != nil {
				return err
			}
			long := *opt
			long.timeout = max(opt.timeout, examineTimeout)
			var hosts []status.Host
			if err := long.askJSON(cmd.Context(), &hosts, "LOCKSTEP", "EXAMINE"); err != nil {
				return err
			}
			r := doctor.Examine(c, hosts)
			if err := opt.print(cmd, r, func() { printReport(cmd.OutOrStdout(), r) }); err != nil {
				return err
			}
			if c.Health == status.NoQuorum {
				return exitCode(exitNoQuorum)
			}
			if worst := r.Worst(); worst == doctor.Ill || worst == doctor.Risk {
				return exitCode(exitDegraded)
			}
			return nil
		},
	}
}

func printReport(w io.Writer, r *doctor.Report) {
	fmt.Fprintf(w, "cluster %s, %d nodes: %d checks, %d findings\n", r.Cluster, r.Nodes, len(r.Checks), len(r.Findings))
	for _, f := range r.Findings {
		who := f.Node
		if who == "" {
			who = "the cluster"
		}
		fmt.Fprintf(w, "\n%s (%s): %s: %s\n    %s\n", f.Level, f.Check, who, f.What, f.Do)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, "all is well")
	}
}
