package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"lockstep/node/recovery"
	"lockstep/node/status"
)

func newRecover(opt *options) *cobra.Command {
	var dir string
	var lost []string
	var force bool
	var sure confirmation
	cmd := &cobra.Command{
		Use:   "recover --dir DIR --lost NODE,...",
		Short: "Go on without nodes that are lost for good, if no quorum is left",
		Long: `Go on without nodes that are lost for good, if no quorum is left.

The command works on the data folder of a remaining node. Stop that node first.
Run the command as the user of lockstepd, or as root: new files then get the
folder's owner. In every Raft group in which the lost nodes have the majority, the
remaining nodes become the only members. Then start the node as usual.

If several nodes remain, do this on each of them, with the same --lost, before you
start any. The node with the most entries then leads.

Writes that only the lost nodes had are lost, even acknowledged ones. The command
says so before it changes anything. It refuses to run while a quorum is left, or
while one of the lost nodes still answers. The cluster keeps its id. It refuses a
lost node that comes back; such a node must join anew with an empty folder.

  clusterctl recover --dir /var/lib/lockstep --lost n2,n3`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" || len(lost) == 0 {
				return errors.New("name the data folder of a stopped node (--dir) and the nodes that are lost for good (--lost)")
			}
			log := slog.New(slog.NewTextHandler(stderr(cmd), &slog.HandlerOptions{Level: slog.LevelWarn}))
			r, err := recovery.Plan(dir, lost, log)
			if err != nil {
				return refused{err}
			}
			if err := opt.recover(cmd, r, &sure, force); err != nil {
				return errors.Join(err, r.Close())
			}
			if err := r.Close(); err != nil {
				return uncertain{fmt.Errorf("the recovery is done, but the folder is not as the node needs it: %w", err)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "data folder of the remaining node, which must be stopped")
	cmd.Flags().StringSliceVar(&lost, "lost", nil, "names or ids of the nodes that are lost for good")
	cmd.Flags().BoolVar(&force, "force", false, "go on even if something answers at the address of a lost node")
	sure.flag(cmd)
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func (o *options) recover(cmd *cobra.Command, r *recovery.Recovery, sure *confirmation, force bool) error {
	if len(r.Stuck()) == 0 && !r.Begun() {
		return refused{errors.New("nothing was done: without the nodes that are named lost every group still has a quorum; " +
			"start this node and use `clusterctl remove`")}
	}
	for _, n := range r.Lost {
		if addr := answers(n); addr != "" && !force {
			return refused{fmt.Errorf("nothing was done: something answers at %s, where node %s was, so it is not lost; "+
				"stop it for good, or pass --force if it is another program", addr, n.Name)}
		}
	}
	for _, w := range r.Warnings() {
		fmt.Fprintln(stderr(cmd), "-", w)
	}
	if err := sure.ask(cmd, "Go on without them?"); err != nil {
		return err
	}
	if err := r.Run(); err != nil {
		return uncertain{fmt.Errorf("the recovery was cut short and must be run again: %w", err)}
	}
	return o.print(cmd, r, func() {
		out := cmd.OutOrStdout()
		for _, g := range r.Stuck() {
			last := ""
			if g.LastWriteMs > 0 {
				last = ", last written " + time.UnixMilli(g.LastWriteMs).Format(time.RFC3339)
			}
			fmt.Fprintf(out, "%s goes on from entry %d%s\n", status.GroupTitle(g.Name), g.LastIndex, last)
		}
		fmt.Fprintln(out, "start the node as usual, then let new nodes join")
	})
}

// answerTimeout is how long to wait for an answer of a lost node.
const answerTimeout = 2 * time.Second

// answers returns an address of the node that accepts connections, or "" if none does.
func answers(n recovery.Node) string {
	for _, addr := range []string{n.PeerAddr, n.ClientAddr} {
		conn, err := net.DialTimeout("tcp", addr, answerTimeout)
		if err == nil {
			conn.Close()
			return addr
		}
	}
	return ""
}
