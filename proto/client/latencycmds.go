package client

import (
	"fmt"
	"time"
)

// latencyHandlers are the subcommands of LATENCY.
var latencyHandlers = group{
	"latency|latest": latencyLatest, "latency|history": latencyHistory, "latency|histogram": latencyHistogram,
	"latency|reset": latencyReset, "latency|doctor": latencyDoctor, "latency|graph": latencyGraph, "latency|help": latencyHelp,
}

func latencyLatest(c *Client, _ [][]byte) {
	all := c.stats.Latency.Histories()
	c.out.Array(len(all))
	for _, h := range all {
		last := h.Samples[len(h.Samples)-1]
		c.out.Array(4)
		c.out.BulkString(h.Event)
		c.out.Int(last.UnixSec)
		c.out.Int(last.Ms)
		c.out.Int(h.MaxMs)
	}
}

func latencyHistory(c *Client, args [][]byte) {
	h, _ := c.stats.Latency.History(string(args[2]))
	c.out.Array(len(h.Samples))
	for _, s := range h.Samples {
		c.out.Array(2)
		c.out.Int(s.UnixSec)
		c.out.Int(s.Ms)
	}
}

// latencyHistogram shows the commands named, a container's with all of its
// subcommands, or all.
func latencyHistogram(c *Client, args [][]byte) {
	all := c.stats.PerLatency()
	if len(args) > 2 {
		wanted := map[string]bool{}
		for _, s := range named(args[2:]) {
			if s == nil {
				continue
			}
			wanted[s.Name] = true
			for _, sub := range s.Sub {
				wanted[sub.Name] = true
			}
		}
		some := all[:0]
		for _, l := range all {
			if wanted[l.Name] {
				some = append(some, l)
			}
		}
		all = some
	}
	c.out.Map(len(all))
	for i := range all {
		c.out.BulkString(all[i].Name)
		c.out.Map(2)
		c.out.BulkString("calls")
		c.out.Int(int64(all[i].Calls))
		c.out.BulkString("histogram_usec")
		list := all[i].Steps()
		c.out.Map(len(list))
		for _, s := range list {
			c.out.Int(int64(s.Usec))
			c.out.Int(int64(s.Calls))
		}
	}
}

func latencyReset(c *Client, args [][]byte) {
	var events []string
	for _, a := range args[2:] {
		events = append(events, string(a))
	}
	c.out.Int(int64(c.stats.Latency.Reset(events...)))
}

func latencyDoctor(c *Client, _ [][]byte) {
	m := &c.stats.Latency
	c.out.Verbatim("txt", doctor(m.Histories(), m.Threshold()))
}

func latencyGraph(c *Client, args [][]byte) {
	h, ok := c.stats.Latency.History(string(args[2]))
	if !ok {
		c.out.Error(fmt.Sprintf("ERR No samples available for event '%s'", args[2]))
		return
	}
	c.out.Verbatim("txt", graph(&h, time.Now().Unix()))
}

func latencyHelp(c *Client, _ [][]byte) {
	c.help("LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"DOCTOR", "    Tell in words what stands out, and what may help.",
		"GRAPH <event>", "    Draw the samples of an event.",
		"HISTOGRAM [<command> ...]", "    Return how many calls of commands took no longer than powers of two.",
		"HISTORY <event>", "    Return the samples of an event.",
		"LATEST", "    Return the latest sample of every event.",
		"RESET [<event> ...]", "    Forget events; all if none is named.")
}
