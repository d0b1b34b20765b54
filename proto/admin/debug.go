package admin

import (
	"fmt"
	"strconv"
	"time"

	"lockstep/proto/client"
)

// debugCommands is DEBUG.
type debugCommands struct{ process Process }

func (h *debugCommands) handlers() client.Handlers { return client.Handlers{"debug": h.debug} }

// debugSleepMax bounds DEBUG SLEEP.
const debugSleepMax = 3600 * time.Second

func (h *debugCommands) debug(r *client.Request, args [][]byte) {
	switch sub := fold(args[1]); {
	case sub == "sleep" && len(args) == 3:
		debugSleep(r, args[2])
	case sub == "set-active-expire" && len(args) == 3:
		h.process.SetActiveExpire(string(args[2]) != "0")
		r.Out.OK()
	case sub == "reload":
		if err := h.process.Reload(); err != nil {
			r.Out.Error("ERR " + err.Error())
			return
		}
		r.Out.OK()
	case sub == "digest" && len(args) == 2:
		r.Out.Raw(r.ReadEverywhere(digestArgs))
	case sub == "digest-value" && len(args) == 2:
		r.Out.Array(0)
	case sub == "digest-value":
		r.Out.Raw(r.Read(append([][]byte{[]byte("lockstep.digest-value")}, args[2:]...)...))
	case sub == "help":
		help(r, "DEBUG <subcommand> [<arg> ...]. Subcommands are:",
			"DIGEST", "    Show a digest of all data.",
			"DIGEST-VALUE <key> [<key> ...]", "    Show the digests of values.",
			"RELOAD", "    Write a snapshot of every shard and load it again.",
			"SET-ACTIVE-EXPIRE <0|1>", "    Turn the search for due keys off or on.",
			"SLEEP <seconds>", "    Hold this connection for so long.")
	default:
		r.Out.Error(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try DEBUG HELP.", args[1]))
	}
}

var digestArgs = [][]byte{[]byte("lockstep.digest")}

func debugSleep(r *client.Request, arg []byte) {
	// Like Redis, it takes an invalid number as 0.
	sec, _ := strconv.ParseFloat(string(arg), 64)
	t := time.NewTimer(min(time.Duration(sec*float64(time.Second)), debugSleepMax))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
	r.Out.OK()
}
