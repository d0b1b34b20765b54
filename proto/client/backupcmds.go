package client

import (
	"context"
	"encoding/json"
	"io"
	"strconv"

	"lockstep/engine/command"
)

// Backup is a cut of every shard, all made between two moments.
type Backup struct {
	Cluster string `json:"cluster"`
	// Version is that of the program.
	Version string `json:"version"`
	// BeganMs is when the first shard was asked, CutMs when the last one was cut, in
	// Unix milliseconds: what was acknowledged before the one is in, what was sent
	// after the other is not.
	BeganMs int64        `json:"began_ms"`
	CutMs   int64        `json:"cut_ms"`
	Parts   []BackupPart `json:"parts"`
	// Users are the cluster's, as an ACL file has them: of passwords it knows
	// SHA-256 alone. Settings are those that were set for the whole cluster. Both are
	// as of a moment between BeganMs and CutMs.
	Users    []byte            `json:"users"`
	Settings map[string]string `json:"settings"`
}

// BackupPart is one shard of a backup, and where it is read.
type BackupPart struct {
	Shard     int    `json:"shard"`
	FirstSlot int    `json:"first_slot"`
	LastSlot  int    `json:"last_slot"`
	Node      string `json:"node"`
	ID        uint64 `json:"id"`
	// Index is the place in the shard's log, StampMs the log's time there.
	Index   uint64 `json:"index"`
	StampMs int64  `json:"stamp_ms"`
	// Keys is how many keys there are, about.
	Keys int64 `json:"keys"`
}

// Backups is behind LOCKSTEP BACKUP, SYNC and PSYNC.
type Backups interface {
	// BackupBegin cuts all shards.
	BackupBegin(ctx context.Context) (*Backup, error)
	// BackupNext is the next piece of a part's file, empty behind its end, and how
	// many keys have been written.
	BackupNext(ctx context.Context, node string, id uint64) (piece []byte, keys int64, err error)
	// BackupEnd gives a part up.
	BackupEnd(ctx context.Context, node string, id uint64) error
	// BackupDone notes that a backup that was begun at some time, in Unix
	// milliseconds, has been written and read back.
	BackupDone(ctx context.Context, beganMs int64) error
	// BackupStream writes the files of all parts as one, and gives the parts up.
	BackupStream(ctx context.Context, b *Backup, w io.Writer) error
}

// lockstepBackup is LOCKSTEP BACKUP BEGIN, NEXT node id, END node id and DONE ms.
func lockstepBackup(c *Client, args [][]byte) {
	what := fold(args[2])
	if what == "begin" && len(args) == 3 {
		answerJSON(c, func(ctx context.Context) ([]byte, error) {
			b, err := c.backend.BackupBegin(ctx)
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
			c.out.Error(command.ErrNotInteger)
			return
		}
		backupOrder(c, func(ctx context.Context) error { return c.backend.BackupDone(ctx, beganMs) })
		return
	}
	if len(args) != 5 || what != "next" && what != "end" {
		c.out.Error(command.ErrSyntax)
		return
	}
	id, err := strconv.ParseUint(string(args[4]), 10, 64)
	if err != nil {
		c.out.Error(command.ErrNotInteger)
		return
	}
	if what == "end" {
		backupOrder(c, func(ctx context.Context) error { return c.backend.BackupEnd(ctx, string(args[3]), id) })
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, orderTimeout)
	defer cancel()
	piece, keys, err := c.backend.BackupNext(ctx, string(args[3]), id)
	if err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.out.Array(2)
	c.out.Bulk(piece)
	c.out.Int(keys)
}

func backupOrder(c *Client, order func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(c.ctx, orderTimeout)
	defer cancel()
	if err := order(ctx); err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.out.OK()
}
