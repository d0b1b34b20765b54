package admin

import (
	"math"

	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// slowlogCommands are the subcommands of SLOWLOG.
type slowlogCommands struct{ log *stats.Slowlog }

func (h *slowlogCommands) handlers() client.Handlers {
	return client.Handlers{"slowlog|get": h.get, "slowlog|len": h.length, "slowlog|reset": h.reset, "slowlog|help": slowlogHelp}
}

func (h *slowlogCommands) get(r *client.Request, args [][]byte) {
	n := int64(10)
	if len(args) > 3 {
		r.Out.Error("ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.")
		return
	}
	if len(args) == 3 {
		var ok bool
		if n, ok = parseInt(args[2]); !ok || n < -1 {
			r.Out.Error("ERR count should be greater than or equal to -1")
			return
		}
	}
	entries := h.log.Get(int(min(n, math.MaxInt32)))
	r.Out.Array(len(entries))
	for i := range entries {
		e := &entries[i]
		r.Out.Array(6)
		r.Out.Int(e.ID)
		r.Out.Int(e.UnixSec)
		r.Out.Int(e.Usec)
		r.Out.Array(len(e.Args))
		for _, a := range e.Args {
			r.Out.BulkString(a)
		}
		r.Out.BulkString(e.Addr)
		r.Out.BulkString(e.Name)
	}
}

func (h *slowlogCommands) length(r *client.Request, _ [][]byte) { r.Out.Int(int64(h.log.Len())) }

func (h *slowlogCommands) reset(r *client.Request, _ [][]byte) {
	h.log.Reset()
	r.Out.OK()
}

func slowlogHelp(r *client.Request, _ [][]byte) {
	help(r, "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"GET [<count>]", "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
		"    Entries are made of:", "    id, timestamp, time in microseconds, arguments array, client IP and port,", "    client name",
		"LEN", "    Return the length of the slowlog.",
		"RESET", "    Reset the slowlog.")
}
