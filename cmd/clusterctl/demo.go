package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockstep/cmd/clusterctl/demo"
)

func newDemo() *cobra.Command {
	var opt demo.Options
	var plain bool
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "demo [-- lockstepd flags]",
		Short: "Run a live cluster on this machine, to watch and to break",
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Args = args
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if length > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, length)
				defer cancel()
			}
			return runDemo(ctx, cmd, opt, plain)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.Nodes, "nodes", 3, "number of nodes")
	f.IntVar(&opt.Port, "port", 7001, "client port of the first node; the others follow. Peer ports are 10000 higher, ports of the pages 1000 higher")
	f.StringVar(&opt.Keep, "keep", "", "keep the data in this folder")
	f.StringVar(&opt.Binary, "binary", "", "path of lockstepd (default: built from this repository)")
	f.BoolVar(&plain, "plain", false, "print lines instead of a live view, and switch the write load on")
	f.DurationVar(&length, "for", 0, "time after which the demo ends by itself")
	return cmd
}

func runDemo(ctx context.Context, cmd *cobra.Command, opt demo.Options, plain bool) error {
	terminal := term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stdin.Fd()))
	if !plain && !terminal {
		fmt.Fprintln(cmd.ErrOrStderr(), "no terminal: printing lines, as with --plain")
		plain = true
	}
	if os.Geteuid() == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "running as root: fine for a demo, not needed")
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "starting %d nodes on ports %d-%d ...\n", opt.Nodes, opt.Port, opt.Port+opt.Nodes-1)
	d, err := demo.Start(ctx, opt)
	if err != nil {
		return err
	}
	defer d.Close()
	if plain {
		return d.RunPlain(ctx, cmd.OutOrStdout())
	}
	if err := d.RunScreen(ctx); err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return err
	}
	verdict, err := d.FinalCheck(context.Background())
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), verdict)
	return nil
}
