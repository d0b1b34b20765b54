package client

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"lockstep/engine/command"
	"lockstep/proto/resp"
)

// SYNC and PSYNC answer one consistent RDB file of all shards (redis-cli --rdb).
// What is written later does not follow: this node is the source of a copy, and of
// nothing that would keep the copy up to date. The file is made as it is read, so
// its length is not known and its end is a mark; clients say by REPLCONF capa eof
// that they can read that.

// errNoMark refuses clients that want to know the length beforehand.
const errNoMark = "ERR a copy is sent with a mark at its end; say REPLCONF capa eof first"

// syncPatience is how long a client may take for what waits to be sent to it.
const syncPatience = 20 * time.Second

// replconf is REPLCONF. Only capa eof matters.
func replconf(c *Client, args [][]byte) {
	if len(args)%2 == 0 {
		c.out.Error(command.ErrSyntax)
		return
	}
	for i := 1; i < len(args); i += 2 {
		switch option := fold(args[i]); option {
		case "capa":
			c.takesMark = c.takesMark || fold(args[i+1]) == "eof"
		case "listening-port", "ip-address", "rdb-only", "rdb-filter-only":
		case "ack", "getack":
			return // has no answer
		default:
			c.out.Error(fmt.Sprintf("ERR Unrecognized REPLCONF option: %s", args[i]))
			return
		}
	}
	c.out.OK()
}

func syncCommand(c *Client, _ [][]byte) { c.sendCopy("") }

// psync begins with a file whatever the client has: there is nothing to go on
// from.
func psync(c *Client, _ [][]byte) {
	var id [20]byte
	_, _ = rand.Read(id[:])
	c.sendCopy(fmt.Sprintf("+FULLRESYNC %s %d\r\n", hex.EncodeToString(id[:]), c.backend.Offset()))
}

func (c *Client) sendCopy(head string) {
	if !c.takesMark {
		c.out.Error(errNoMark)
		return
	}
	b, err := c.backend.BackupBegin(c.ctx)
	if err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	var mark [20]byte
	_, _ = rand.Read(mark[:])
	end := hex.EncodeToString(mark[:])
	c.out.Raw([]byte(head + "$EOF:" + end + "\r\n"))
	if !c.write() || c.backend.BackupStream(c.ctx, b, paced{c.conn}) != nil {
		// There is no way to say so within a file: it stays without its end.
		c.closing = true
		return
	}
	c.out.Raw([]byte(end))
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
