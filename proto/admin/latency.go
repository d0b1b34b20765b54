package admin

import (
	"fmt"
	"time"

	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// latencyCommands are the subcommands of LATENCY.
type latencyCommands struct{ stats *stats.Stats }

func (h *latencyCommands) handlers() client.Handlers {
	return client.Handlers{
		"latency|latest": h.latest, "latency|history": h.history, "latency|histogram": h.histogram,
		"latency|reset": h.reset, "latency|doctor": h.doctor, "latency|graph": h.graph, "latency|help": latencyHelp,
	}
}

func (h *latencyCommands) latest(r *client.Request, _ [][]byte) {
	all := h.stats.Latency.Histories()
	r.Out.Array(len(all))
	for _, kept := range all {
		last := kept.Samples[len(kept.Samples)-1]
		r.Out.Array(4)
		r.Out.BulkString(kept.Event)
		r.Out.Int(last.UnixSec)
		r.Out.Int(last.Ms)
		r.Out.Int(kept.MaxMs)
	}
}

func (h *latencyCommands) history(r *client.Request, args [][]byte) {
	kept, _ := h.stats.Latency.History(string(args[2]))
	r.Out.Array(len(kept.Samples))
	for _, s := range kept.Samples {
		r.Out.Array(2)
		r.Out.Int(s.UnixSec)
		r.Out.Int(s.Ms)
	}
}

// histogram shows the named commands, or all of them. A container is shown with all
// of its subcommands.
func (h *latencyCommands) histogram(r *client.Request, args [][]byte) {
	all := h.stats.PerLatency()
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
	r.Out.Map(len(all))
	for i := range all {
		r.Out.BulkString(all[i].Name)
		r.Out.Map(2)
		r.Out.BulkString("calls")
		r.Out.Int(int64(all[i].Calls))
		r.Out.BulkString("histogram_usec")
		list := all[i].Steps()
		r.Out.Map(len(list))
		for _, s := range list {
			r.Out.Int(int64(s.Usec))
			r.Out.Int(int64(s.Calls))
		}
	}
}

func (h *latencyCommands) reset(r *client.Request, args [][]byte) {
	var events []string
	for _, a := range args[2:] {
		events = append(events, string(a))
	}
	r.Out.Int(int64(h.stats.Latency.Reset(events...)))
}

func (h *latencyCommands) doctor(r *client.Request, _ [][]byte) {
	m := &h.stats.Latency
	r.Out.Verbatim("txt", doctor(m.Histories(), m.Threshold()))
}

func (h *latencyCommands) graph(r *client.Request, args [][]byte) {
	kept, ok := h.stats.Latency.History(string(args[2]))
	if !ok {
		r.Out.Error(fmt.Sprintf("ERR No samples available for event '%s'", args[2]))
		return
	}
	r.Out.Verbatim("txt", graph(&kept, time.Now().Unix()))
}

func latencyHelp(r *client.Request, _ [][]byte) {
	help(r, "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"DOCTOR", "    Tell in words what stands out, and what may help.",
		"GRAPH <event>", "    Draw the samples of an event.",
		"HISTOGRAM [<command> ...]", "    Return how many calls of commands took no longer than powers of two.",
		"HISTORY <event>", "    Return the samples of an event.",
		"LATEST", "    Return the latest sample of every event.",
		"RESET [<event> ...]", "    Forget events; all if none is named.")
}
