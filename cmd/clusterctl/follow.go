package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

// patience is the flag --wait of a verb whose work takes a while.
type patience struct{ wait time.Duration }

func (p *patience) flag(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&p.wait, "wait", 10*time.Minute, "how long to wait until it is done; with 0 it does not wait")
}

// followEvery is the pause between two questions about the progress.
const followEvery = 300 * time.Millisecond

// follow asks for the status until look reports that the work is done. It prints the progress
// whenever that changes. It tolerates nodes that do not answer.
func (p *patience) follow(cmd *cobra.Command, o *options, look func(*status.Cluster) (done bool, progress string)) error {
	return p.until(cmd, func(ctx context.Context) (bool, string, error) {
		c, err := o.status(ctx)
		if err != nil {
			return false, "", err
		}
		done, progress := look(c)
		return done, progress, nil
	})
}

// until calls look until the work is done, and prints the progress whenever that changes. If no node
// answers, that counts as progress; any other error ends it.
func (p *patience) until(cmd *cobra.Command, look func(context.Context) (done bool, progress string, err error)) error {
	if p.wait <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), p.wait)
	defer cancel()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	shown := ""
	for {
		done, progress, err := look(ctx)
		switch {
		case err == nil && done:
			return nil
		case cmd.Context().Err() != nil:
			return uncertain{fmt.Errorf("ordered, but interrupted before it was seen done: %s", shown)}
		case ctx.Err() != nil:
			return uncertain{fmt.Errorf("ordered, but not done after %v: %s", p.wait, shown)}
		case errors.Is(err, errNoAnswer):
			progress = err.Error()
		case err != nil:
			return uncertain{err}
		}
		if progress != shown {
			fmt.Fprintln(stderr(cmd), "...", progress)
			shown = progress
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
