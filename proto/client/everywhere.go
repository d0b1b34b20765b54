package client

import (
	"bytes"
	"strconv"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/proto/resp"
)

// Commands on a whole database, where there are several shards. Each shard
// answers for itself, at its own moment.

// runEverywhere runs a command on all shards and merges the replies.
func (c *Client) runEverywhere(spec *command.Spec, args [][]byte) {
	c.settle()
	started := time.Now()
	begin := c.out.Len()
	switch spec.Name {
	case "scan":
		c.scanShards(args)
	case "randomkey":
		c.randomKey(args)
	default:
		c.join(c.onAllShards(spec, args))
	}
	written := c.out.Bytes()[begin:]
	failed := len(written) > 0 && written[0] == '-'
	if failed {
		c.stats.countError(written)
	}
	took := time.Since(started)
	c.stats.ran(spec, took, failed)
	c.slow(spec, args, took)
	c.mute(begin)
}

func (c *Client) onAllShards(spec *command.Spec, args [][]byte) []*cluster.Call {
	calls := make([]*cluster.Call, c.backend.Shards())
	for i := range calls {
		calls[i] = c.toShard(i, !spec.Writes(args), args)
	}
	c.backend.Do(c.ctx, calls)
	return calls
}

func (c *Client) toShard(shard int, readOnly bool, args [][]byte) *cluster.Call {
	return &cluster.Call{
		Txn:   fsm.Txn{Proto: uint8(c.proto), Ops: []fsm.Op{{DB: c.db, Args: args}}},
		Shard: shard, ReadOnly: readOnly, Stale: readOnly && c.readonly,
	}
}

// join adds integers up, joins arrays, and takes the first of other replies;
// an error of any shard is the reply.
func (c *Client) join(calls []*cluster.Call) {
	sum, elements := int64(0), 0
	var parts []byte
	for _, call := range calls {
		r := call.Reply
		if call.Err != nil {
			r = c.callError(call.Err, false)
		}
		if len(r) == 0 || r[0] == '-' {
			c.out.Raw(r)
			return
		}
		head := bytes.IndexByte(r, '\r')
		n, _ := strconv.ParseInt(string(r[1:head]), 10, 64)
		switch r[0] {
		case ':':
			sum += n
		case '*', '~':
			elements += int(n)
			parts = append(parts, r[head+2:]...)
		}
	}
	switch first := calls[0].Reply; first[0] {
	case ':':
		c.out.Int(sum)
	case '*', '~':
		c.out.Array(elements)
		c.out.Raw(parts)
	default:
		c.out.Raw(first)
	}
}

// scanShards walks one shard after the other: a cursor is the shard's own times
// the number of shards, plus the shard.
func (c *Client) scanShards(args [][]byte) {
	shards := uint64(c.backend.Shards())
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		c.out.Error(command.ErrInvalidCursor)
		return
	}
	shard := cursor % shards
	own := append([][]byte(nil), args...)
	own[1] = strconv.AppendUint(nil, cursor/shards, 10)
	r := c.one(c.toShard(int(shard), true, own))
	if len(r) == 0 || r[0] != '*' {
		c.out.Raw(r)
		return
	}
	const head = len("*2\r\n")
	size := resp.Skip(r[head:])
	text := r[head : head+size]
	text = text[bytes.IndexByte(text, '\n')+1 : len(text)-2]
	next, _ := strconv.ParseUint(string(text), 10, 64)
	switch {
	case next != 0:
		next = next*shards + shard
	case shard+1 < shards:
		next = shard + 1
	}
	c.out.Array(2)
	c.out.Bulk(strconv.AppendUint(nil, next, 10))
	c.out.Raw(r[head+size:])
}

// randomKey asks the shards, from a random one on, until one has a key.
func (c *Client) randomKey(args [][]byte) {
	shards := c.backend.Shards()
	first := int(c.id+c.stats.total.Load()) % shards
	for i := range shards {
		r := c.one(c.toShard((first+i)%shards, true, args))
		if (len(r) > 0 && r[0] == '-') || i == shards-1 || (len(r) > 1 && r[0] == '$' && r[1] != '-') {
			c.out.Raw(r)
			return
		}
	}
}
