package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// RunPlain prints a line a second until ctx ends, for pipes and scripts. The write load is on from
// the beginning.
func (d *Demo) RunPlain(ctx context.Context, w io.Writer) error {
	if page := d.page(); page != "" {
		fmt.Fprintln(w, "a page of the whole cluster:", page)
	}
	d.Load.Toggle()
	stop := d.Load.start(ctx)
	printed := 0
	for ctx.Err() == nil {
		pause(ctx, time.Second)
		if ctx.Err() != nil {
			break
		}
		d.Poll(ctx)
		events, next := d.eventsFrom(printed)
		for _, e := range events {
			fmt.Fprintln(w, e)
		}
		printed = next
		fmt.Fprintln(w, time.Now().Format("15:04:05"), d.nodesLine(), "|", d.Verdict(), "| errors:", d.Load.Errors.Load(), "| slowest write:", d.Load.SlowestMs(), "ms")
	}
	stop()
	verdict, err := d.FinalCheck(context.Background())
	if err != nil {
		return err
	}
	fmt.Fprintln(w, verdict)
	return nil
}

// nodesLine describes all nodes in one line.
func (d *Demo) nodesLine() string {
	c := d.Latest()
	if c == nil {
		return "no node answers"
	}
	parts := []string{string(c.Health)}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if g := n.Group("0"); n.Reachable && g != nil {
			parts = append(parts, fmt.Sprintf("%s %s term %d executed %d lag %d %d ops/s", n.Name, g.Role, g.Term, g.Executed, g.Lag, n.OpsPerSec))
		} else {
			parts = append(parts, n.Name+" unreachable")
		}
	}
	return strings.Join(parts, "; ")
}
