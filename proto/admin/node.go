package admin

import (
	"strconv"
	"time"

	"lockstep/engine/command"
	"lockstep/proto/client"
)

// nodeCommands are commands about the node that are not subcommands.
type nodeCommands struct {
	facts       Facts
	replication Replication
	process     Process
}

func (h *nodeCommands) handlers() client.Handlers {
	return client.Handlers{
		"time": timeCommand, "lolwut": lolwut, "role": h.role, "wait": h.wait, "waitaof": h.waitAOF, "info": h.info,
		"shutdown": h.shutdown, "save": h.save, "bgsave": h.bgSave, "lastsave": h.lastSave,
	}
}

func timeCommand(r *client.Request, _ [][]byte) {
	now := time.Now()
	r.Out.Array(2)
	r.Out.BulkInt(now.Unix())
	r.Out.BulkInt(int64(now.Nanosecond() / 1000))
}

func (h *nodeCommands) role(r *client.Request, _ [][]byte) {
	if h.replication.Role() == "slave" {
		leader := h.replication.Replicas()
		host, port := "", int64(0)
		if len(leader) > 0 {
			host = leader[0][0]
			port, _ = strconv.ParseInt(leader[0][1], 10, 64)
		}
		r.Out.Array(5)
		r.Out.BulkString("slave")
		r.Out.BulkString(host)
		r.Out.Int(port)
		r.Out.BulkString("connected")
		r.Out.Int(h.replication.Offset())
		return
	}
	replicas := h.replication.Replicas()
	r.Out.Array(3)
	r.Out.BulkString("master")
	r.Out.Int(h.replication.Offset())
	r.Out.Array(len(replicas))
	for _, replica := range replicas {
		r.Out.Array(3)
		r.Out.BulkString(replica[0])
		r.Out.BulkString(replica[1])
		r.Out.BulkString(replica[2])
	}
}

// wait answers how many replicas hold this client's writes. Acknowledged writes are
// on a quorum already, so it never waits.
func (h *nodeCommands) wait(r *client.Request, args [][]byte) {
	if _, ok := integer(r, args[1], command.ErrNotInteger); !ok {
		return
	}
	if _, ok := timeout(r, args[2]); !ok {
		return
	}
	r.Out.Int(int64(h.replication.Synced()))
}

func (h *nodeCommands) waitAOF(r *client.Request, args [][]byte) {
	local, ok := integer(r, args[1], command.ErrNotPositive)
	if !ok {
		return
	}
	if local < 0 || local > 1 {
		r.Out.Error("ERR value is out of range, must be between 0 and 1")
		return
	}
	if _, ok := integer(r, args[2], command.ErrNotInteger); !ok {
		return
	}
	if _, ok := timeout(r, args[3]); !ok {
		return
	}
	r.Out.Array(2)
	r.Out.Int(1)
	r.Out.Int(int64(h.replication.Synced()))
}

func (h *nodeCommands) info(r *client.Request, args [][]byte) {
	var sections []string
	for _, a := range args[1:] {
		sections = append(sections, fold(a))
	}
	r.Out.Verbatim("txt", h.facts.Info(sections))
}

func (h *nodeCommands) shutdown(r *client.Request, args [][]byte) {
	given := map[string]bool{}
	for _, a := range args[1:] {
		switch word := fold(a); word {
		case "nosave", "save", "now", "force", "abort":
			given[word] = true
		default:
			r.Out.Error(command.ErrSyntax)
			return
		}
	}
	switch {
	case given["save"] && given["nosave"], given["abort"] && len(given) > 1:
		r.Out.Error(command.ErrSyntax)
		return
	case given["abort"]:
		r.Out.Error("ERR No shutdown in progress.")
		return
	}
	h.process.Shutdown()
	r.EndConnection()
}

func (h *nodeCommands) save(r *client.Request, _ [][]byte) {
	write, err := h.process.BeginSnapshot(false)
	if err == nil {
		err = write()
	}
	if err != nil {
		r.Out.Error("ERR " + err.Error())
		return
	}
	r.Out.OK()
}

func (h *nodeCommands) bgSave(r *client.Request, args [][]byte) {
	if len(args) > 2 || (len(args) == 2 && fold(args[1]) != "schedule") {
		r.Out.Error(command.ErrSyntax)
		return
	}
	write, err := h.process.BeginSnapshot(true)
	if err != nil {
		r.Out.Error("ERR " + err.Error())
		return
	}
	go func() { _ = write() }()
	r.Out.Status("Background saving started")
}

func (h *nodeCommands) lastSave(r *client.Request, _ [][]byte) {
	r.Out.Int(h.process.LastSnapshotUnix())
}
