package admin

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"lockstep/engine/command"
	"lockstep/proto/client"
	"lockstep/proto/resp"
)

// SYNC and PSYNC answer with one consistent RDB file of all shards (redis-cli
// --rdb). Later writes do not follow: this node serves as the source of a copy, but
// does not keep the copy up to date. The file is made while it is sent, so its
// length is not known in advance, and its end is marked. Clients announce by
// REPLCONF capa eof that they can read such a file.

// errNoMark refuses clients that need to know the length in advance.
const errNoMark = "ERR a copy is sent with a mark at its end; say REPLCONF capa eof first"

// syncPatience is how long a client may take to read the data that waits for it.
const syncPatience = 20 * time.Second

// copyCommands are SYNC, PSYNC and REPLCONF.
type copyCommands struct {
	backups     Backups
	replication Replication
}

func (h *copyCommands) handlers() client.Handlers {
	return client.Handlers{"sync": h.sync, "psync": h.psync, "replconf": replconf}
}

// replconf is REPLCONF. Only capa eof matters.
func replconf(r *client.Request, args [][]byte) {
	if len(args)%2 == 0 {
		r.Out.Error(command.ErrSyntax)
		return
	}
	for i := 1; i < len(args); i += 2 {
		switch option := fold(args[i]); option {
		case "capa":
			r.TakesMark = r.TakesMark || fold(args[i+1]) == "eof"
		case "listening-port", "ip-address", "rdb-only", "rdb-filter-only":
		case "ack", "getack":
			return // it has no reply
		default:
			r.Out.Error(fmt.Sprintf("ERR Unrecognized REPLCONF option: %s", args[i]))
			return
		}
	}
	r.Out.OK()
}

func (h *copyCommands) sync(r *client.Request, _ [][]byte) { h.sendCopy(r, "") }

// psync always starts with a full file, whatever the client has: there is no
// backlog to continue from.
func (h *copyCommands) psync(r *client.Request, _ [][]byte) {
	var id [20]byte
	_, _ = rand.Read(id[:])
	h.sendCopy(r, fmt.Sprintf("+FULLRESYNC %s %d\r\n", hex.EncodeToString(id[:]), h.replication.Offset()))
}

func (h *copyCommands) sendCopy(r *client.Request, head string) {
	if !r.TakesMark {
		r.Out.Error(errNoMark)
		return
	}
	b, err := h.backups.BackupBegin(r.Context())
	if err != nil {
		r.Out.Error("ERR " + err.Error())
		return
	}
	var mark [20]byte
	_, _ = rand.Read(mark[:])
	end := hex.EncodeToString(mark[:])
	r.Out.Raw([]byte(head + "$EOF:" + end + "\r\n"))
	if !r.Flush() || h.backups.BackupStream(r.Context(), b, paced{r.Guard()}) != nil {
		// An error cannot be reported within a file, so the file is left without
		// its end.
		r.EndConnection()
		return
	}
	r.Out.Raw([]byte(end))
}

// paced sends a file no faster than the client reads it.
type paced struct{ conn *resp.Guard }

// Write implements io.Writer.
func (p paced) Write(b []byte) (int, error) {
	n, err := p.conn.Write(b)
	if err == nil {
		p.conn.Flush(syncPatience)
	}
	return n, err
}
