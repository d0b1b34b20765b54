package admin

import (
	"context"
	"encoding/json"
	"strconv"

	"lockstep/engine/command"
	"lockstep/proto/client"
)

// Backup is a cut of every shard, all made between two moments.
type Backup struct {
	Cluster string `json:"cluster"`
	// Version is that of the program.
	Version string `json:"version"`
	// BeganMs is when the first shard was asked, CutMs when the last one was cut, in Unix
	// milliseconds. Writes acknowledged before BeganMs are in the backup, and writes sent after
	// CutMs are not.
	BeganMs int64        `json:"began_ms"`
	CutMs   int64        `json:"cut_ms"`
	Parts   []BackupPart `json:"parts"`
	// Users are the cluster's users in the form of an ACL file, which holds only the SHA-256 of
	// passwords. Settings are those that were set for the whole cluster. Both are as of a moment
	// between BeganMs and CutMs.
	Users    []byte            `json:"users"`
	Settings map[string]string `json:"settings"`
}

// BackupPart is one shard of a backup, and where to read it.
type BackupPart struct {
	Shard     int    `json:"shard"`
	FirstSlot int    `json:"first_slot"`
	LastSlot  int    `json:"last_slot"`
	Node      string `json:"node"`
	ID        uint64 `json:"id"`
	// Index is the position in the shard's log, StampMs the log's time there.
	Index   uint64 `json:"index"`
	StampMs int64  `json:"stamp_ms"`
	// Keys is the approximate number of keys.
	Keys int64 `json:"keys"`
}

// backup is LOCKSTEP BACKUP BEGIN, NEXT node id, END node id and DONE ms.
func (h *operatorCommands) backup(r *client.Request, args [][]byte) {
	what := fold(args[2])
	if what == "begin" && len(args) == 3 {
		answerJSON(r, func(ctx context.Context) ([]byte, error) {
			b, err := h.backups.BackupBegin(ctx)
			if err != nil {
				return nil, err
			}
			return json.Marshal(b)
		})
		return
	}
	if what == "done" && len(args) == 4 {
		beganMs, err := strconv.ParseInt(string(args[3]), 10, 64)
		if err != nil || beganMs <= 0 {
			r.Out.Error(command.ErrNotInteger)
			return
		}
		backupOrder(r, func(ctx context.Context) error { return h.backups.BackupDone(ctx, beganMs) })
		return
	}
	if len(args) != 5 || what != "next" && what != "end" {
		r.Out.Error(command.ErrSyntax)
		return
	}
	id, err := strconv.ParseUint(string(args[4]), 10, 64)
	if err != nil {
		r.Out.Error(command.ErrNotInteger)
		return
	}
	if what == "end" {
		backupOrder(r, func(ctx context.Context) error { return h.backups.BackupEnd(ctx, string(args[3]), id) })
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	piece, keys, err := h.backups.BackupNext(ctx, string(args[3]), id)
	if err != nil {
		r.Out.Error("ERR " + err.Error())
		return
	}
	r.Out.Array(2)
	r.Out.Bulk(piece)
	r.Out.Int(keys)
}

func backupOrder(r *client.Request, order func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	if err := order(ctx); err != nil {
		r.Out.Error("ERR " + err.Error())
		return
	}
	r.Out.OK()
}
