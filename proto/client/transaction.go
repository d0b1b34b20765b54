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

// transaction is what MULTI and WATCH have gathered.
type transaction struct {
	open, dirty bool
	queue       []queued
	bytes       int
	watches     []fsm.Watch
}

// queued is a command in a transaction.
type queued struct {
	spec *command.Spec
	args [][]byte
}

// Bounds of a transaction.
const (
	txnCommandsMax = 1 << 16
	txnBytesMax    = 64 << 20
	watchesMax     = 1 << 16
)

// endsQueueing tells whether a command runs at once even in a transaction.
func endsQueueing(s *command.Spec) bool {
	switch s.Name {
	case "exec", "discard", "multi", "watch", "quit", "reset":
		return true
	}
	return false
}

// enqueue copies a command into the transaction.
func (c *Client) enqueue(spec *command.Spec, args [][]byte) {
	c.runCalls()
	begin := c.out.Len()
	defer c.mute(begin)
	if spec.Is(command.NoMulti) {
		c.tx.dirty = true
		c.out.Error("ERR Command not allowed inside a transaction")
		return
	}
	size := 0
	for _, a := range args {
		size += len(a) + 24
	}
	if len(c.tx.queue) >= txnCommandsMax || c.tx.bytes+size > txnBytesMax {
		c.tx.dirty = true
		c.out.Error("ERR the transaction is too large")
		return
	}
	c.tx.bytes += size
	c.tx.queue = append(c.tx.queue, queued{spec, copyArgs(args)})
	c.out.Status("QUEUED")
}

func copyArgs(args [][]byte) [][]byte {
	total := 0
	for _, a := range args {
		total += len(a)
	}
	buf := make([]byte, 0, total)
	list := make([][]byte, len(args))
	for i, a := range args {
		begin := len(buf)
		buf = append(buf, a...)
		list[i] = buf[begin:len(buf):len(buf)]
	}
	return list
}

func multi(c *Client, _ [][]byte) {
	if c.tx.open {
		c.out.Error("ERR MULTI calls can not be nested")
		return
	}
	c.tx.open = true
	c.out.OK()
}

func discard(c *Client, _ [][]byte) {
	if !c.tx.open {
		c.out.Error("ERR DISCARD without MULTI")
		return
	}
	c.tx = transaction{}
	c.out.OK()
}

func unwatch(c *Client, _ [][]byte) {
	c.tx.watches = nil
	c.out.OK()
}

func watch(c *Client, args [][]byte) {
	if c.tx.open {
		c.out.Error("ERR WATCH inside MULTI is not allowed")
		return
	}
	if len(c.tx.watches)+len(args)-1 > watchesMax {
		c.out.Error("ERR too many watched keys")
		return
	}
	calls := make([]*cluster.Call, len(args)-1)
	for i, key := range args[1:] {
		calls[i] = c.internal([]byte("lockstep.versions"), key)
	}
	c.backend.Do(c.ctx, calls)
	for i, call := range calls {
		if call.Err != nil {
			c.out.Raw(c.callError(call.Err))
			return
		}
		version, seenAt, ok := parsePair(call.Reply)
		if !ok {
			c.out.Raw(call.Reply)
			return
		}
		c.watchKey(fsm.Watch{DB: c.db, Key: bytes.Clone(args[i+1]), Version: version, SeenAt: seenAt})
	}
	c.out.OK()
}

// watchKey keeps a watch unless the key is watched already: the first look
// counts.
func (c *Client) watchKey(w fsm.Watch) {
	for i := range c.tx.watches {
		if old := &c.tx.watches[i]; old.DB == w.DB && bytes.Equal(old.Key, w.Key) {
			return
		}
	}
	c.tx.watches = append(c.tx.watches, w)
}

// parsePair reads "*2\r\n:a\r\n:b\r\n".
func parsePair(r []byte) (a, b uint64, ok bool) {
	parts := bytes.Split(r, []byte("\r\n"))
	if len(parts) != 4 || string(parts[0]) != "*2" || len(parts[1]) < 2 || len(parts[2]) < 2 {
		return 0, 0, false
	}
	a, err := strconv.ParseUint(string(parts[1][1:]), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	b, err = strconv.ParseUint(string(parts[2][1:]), 10, 64)
	return a, b, err == nil
}

func exec(c *Client, _ [][]byte) {
	if !c.tx.open {
		c.out.Error("ERR EXEC without MULTI")
		return
	}
	tx := c.tx
	c.tx = transaction{}
	if tx.dirty {
		c.out.Error("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	call, ops := c.txnOf(&tx)
	var replies []byte
	if ops > 0 || len(tx.watches) > 0 {
		if c.backend.Settings().Redirect && len(call.Slots) > 0 {
			if moved := c.moved(call.Slots); moved != "" {
				c.out.Error(moved)
				return
			}
		}
		started := time.Now()
		r := c.one(call)
		if len(r) == 0 || r[0] != '*' || bytes.HasPrefix(r, []byte("*-1")) {
			c.out.Raw(r)
			return
		}
		c.countQueued(&tx, time.Since(started), ops)
		replies = r[bytes.IndexByte(r, '\n')+1:]
	}
	c.writeReplies(&tx, replies, ops)
}

func (c *Client) countQueued(tx *transaction, took time.Duration, ops int) {
	for _, q := range tx.queue {
		if q.spec.Scope != command.ScopeNode {
			c.stats.ran(q.spec, took/time.Duration(max(ops, 1)), false)
		}
	}
}

// txnOf makes the txn of a transaction: its commands on data, each with the
// database that a SELECT before it chose.
func (c *Client) txnOf(tx *transaction) (call *cluster.Call, ops int) {
	call = &cluster.Call{Txn: fsm.Txn{Kind: fsm.KindExec, Proto: uint8(c.proto), Watches: tx.watches}}
	db := c.db
	for _, q := range tx.queue {
		if q.spec.Name == "select" {
			if n, err := strconv.Atoi(string(q.args[1])); err == nil && n >= 0 && n < databases {
				db = n
			}
		}
		if q.spec.Scope == command.ScopeNode {
			continue
		}
		call.Txn.Ops = append(call.Txn.Ops, fsm.Op{DB: db, Args: q.args})
		addSlots(call, q.spec, q.args)
		if q.spec.Scope != command.ScopeKeys && c.backend.Shards() > 1 {
			// It would have to be atomic over all shards.
			call.Shard = -1
		}
	}
	for i := range tx.watches {
		call.Slots = append(call.Slots, uint16(slotOf(tx.watches[i].Key)))
	}
	if call.Shard < 0 {
		call.Slots = nil
	}
	return call, len(call.Txn.Ops)
}

// writeReplies writes EXEC's array: the txn's replies, and between them what
// commands on the node answer now.
func (c *Client) writeReplies(tx *transaction, replies []byte, ops int) {
	c.out.Array(len(tx.queue))
	if ops == len(tx.queue) {
		c.out.Raw(replies)
		return
	}
	for _, q := range tx.queue {
		if q.spec.Scope == command.ScopeNode {
			functions[q.spec.Name](c, q.args)
			continue
		}
		n := resp.Skip(replies)
		c.out.Raw(replies[:n])
		replies = replies[n:]
	}
}
