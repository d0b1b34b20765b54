package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func newJoin(opt *options) *cobra.Command {
	var binary string
	var learner bool
	cmd := &cobra.Command{
		Use:   "join -a ADDR -- [lockstepd flags]",
		Short: "Start a node here that joins the cluster at -a",
		Long: `Start a node here that joins the cluster at -a.

clusterctl asks the cluster for its peer addresses, and is then replaced by
lockstepd. It passes on everything behind --; a configuration file comes first.
The node begins as a learner. The cluster makes it a voter when it has caught up;
clusterctl status shows that. With --learner it stays a learner until
clusterctl promote.

  clusterctl join -a 10.0.0.1:6379 -- --dir /var/lib/lockstep --node-name n4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var own []string
			if learner {
				own = append(own, "--learner=yes")
			}
			return opt.becomeNode(cmd, binary, own, args)
		},
	}
	binaryFlag(cmd, &binary)
	cmd.Flags().BoolVar(&learner, "learner", false, "let the node follow without a vote until it is promoted")
	return cmd
}

func binaryFlag(cmd *cobra.Command, binary *string) {
	cmd.Flags().StringVar(binary, "binary", "", "path of lockstepd (default: beside clusterctl, then in PATH)")
}

// becomeNode replaces this process by lockstepd, as a joining node. Its flags are own and the ones
// given after --.
func (o *options) becomeNode(cmd *cobra.Command, binary string, own, given []string) error {
	peers, err := o.peers(cmd.Context())
	if err != nil {
		return err
	}
	path, err := findBinary(binary)
	if err != nil {
		return err
	}
	argv := commandLine(path, append([]string{"--join=" + strings.Join(peers, ",")}, own...), given)
	fmt.Fprintln(stderr(cmd), strings.Join(argv, " "))
	return syscall.Exec(path, argv, os.Environ())
}

// commandLine puts own before the given flags, so that the given ones win, and after a
// configuration file, which lockstepd expects first.
func commandLine(path string, own, given []string) []string {
	argv := []string{path}
	if len(given) > 0 && !strings.HasPrefix(given[0], "-") {
		argv, given = append(argv, given[0]), given[1:]
	}
	return append(append(argv, own...), given...)
}

// peers are the peer addresses of the cluster's nodes.
func (o *options) peers(ctx context.Context) ([]string, error) {
	c, err := o.status(ctx)
	if err != nil {
		return nil, err
	}
	var peers []string
	for i := range c.Nodes {
		peers = append(peers, c.Nodes[i].PeerAddr)
	}
	return peers, nil
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
