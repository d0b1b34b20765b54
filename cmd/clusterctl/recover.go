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
		Short: "Go on without nodes that are lost for good, where no quorum is left",
		Long: `Go on without nodes that are lost for good, where no quorum is left.

It works on the data folder of a node that remains and has been stopped, as the
user that lockstepd runs as, or as root: what it makes is then given to the
folder's owner. Every Raft group of which the lost nodes have the
majority gets the nodes that remain as its only members; then the node is
started as usual. Where several nodes remain, it is done to each, with the same
--lost, before any is started; the one that is furthest then leads.

What the lost nodes had acknowledged and the others have not got is lost; that
is said before anything is changed. It is refused while a quorum is left, or
while one of the lost nodes still answers. The cluster keeps its id; a lost
node that comes back is refused, and joins anew with an empty folder.

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
	cmd.Flags().StringVar(&dir, "dir", "", "the data folder of a stopped node that remains")
	cmd.Flags().StringSliceVar(&lost, "lost", nil, "names or ids of the nodes that are lost for good")
	cmd.Flags().BoolVar(&force, "force", false, "although something answers where a lost node was")
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

// answerTimeout is how long a lost node is called.
const answerTimeout = 2 * time.Second

// answers is an address at which a node, or something in its place, takes
// connections; empty: nothing does.
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
