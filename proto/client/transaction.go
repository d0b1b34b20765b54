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
	// open is between MULTI and EXEC; dirty when a command could not be queued;
	// inPlace when one of the commands queued needs no data.
	open, dirty, inPlace bool
	queue                []queued
	bytes                int
	watches              []fsm.Watch
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
	// argOverhead is what an argument takes beside its bytes.
	argOverhead = 24
)

// execSpec is EXEC's row: EXEC alone runs data without being data.
var execSpec = command.Get("exec")

// runsInMulti tells whether a command runs at once even in a transaction.
func runsInMulti(s *command.Spec) bool {
	switch s.Name {
	case "exec", "discard", "multi", "watch", "quit", "reset":
		return true
	}
	return false
}

// enqueue copies a command into the transaction.
func (c *Client) enqueue(spec *command.Spec, args [][]byte) {
	size := 0
	for _, a := range args {
		size += len(a) + argOverhead
	}
	if len(c.tx.queue) >= txnCommandsMax || c.tx.bytes+size > txnBytesMax {
		c.tx.dirty = true
		c.errorReply("ERR the transaction is too large")
		return
	}
	c.tx.bytes += size
	c.tx.queue = append(c.tx.queue, queued{spec, copyArgs(args)})
	if spec.Scope == command.ScopeNode {
		c.tx.inPlace = true
	}
	begin := c.out.Len()
	c.out.Status("QUEUED")
	c.mute(begin)
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
			c.out.Raw(c.callError(call.Err, false))
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

// exec ends a transaction. Commands on data alone go with the calls of the
// batch; where others are among them the client may not be the same afterwards,
// so they run at once.
func (c *Client) exec() {
	tx := c.tx
	switch {
	case !tx.open:
		c.refuseExec("ERR EXEC without MULTI")
		return
	case tx.dirty:
		c.tx = transaction{}
		c.refuseExec("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	c.tx = transaction{}
	if tx.inPlace {
		c.settle()
	}
	s := c.nextSlot(execSpec)
	s.exec = &tx
	c.txnOf(&tx, &s.call)
	switch {
	case len(s.call.Txn.Ops) == 0 && len(tx.watches) == 0:
		c.calls.slots = c.calls.slots[:len(c.calls.slots)-1]
		begin := c.out.Len()
		c.writeReplies(&tx, nil)
		c.mute(begin)
		c.stats.ran(execSpec, 0, false)
	case c.redirect(&s.call), !tx.inPlace:
	default:
		c.execAmong(&tx)
	}
}

func (c *Client) refuseExec(text string) {
	c.errorReply(text)
	c.stats.ran(execSpec, 0, true)
}

// execAmong runs the transaction gathered last, and then the commands in it
// that need no data, each at its place.
func (c *Client) execAmong(tx *transaction) {
	s := &c.calls.slots[0]
	started := time.Now()
	c.backend.Do(c.ctx, []*cluster.Call{&s.call})
	answer := c.answer(s, time.Since(started))
	c.calls.slots = c.calls.slots[:0]
	begin := c.out.Len()
	if len(answer) == 0 || answer[0] != '*' || bytes.HasPrefix(answer, []byte("*-1")) {
		c.out.Raw(answer)
	} else {
		c.writeReplies(tx, answer[bytes.IndexByte(answer, '\n')+1:])
	}
	c.mute(begin)
}

// countQueued counts the commands of a transaction; each took its share.
func (c *Client) countQueued(tx *transaction, took time.Duration) {
	for _, q := range tx.queue {
		if q.spec.Scope != command.ScopeNode {
			c.stats.ran(q.spec, took/time.Duration(len(tx.queue)), false)
		}
	}
}

// txnOf makes the txn of a transaction: its commands on data, each with the
// database that a SELECT before it chose.
func (c *Client) txnOf(tx *transaction, call *cluster.Call) {
	call.Txn = fsm.Txn{Kind: fsm.KindExec, Proto: uint8(c.proto), Watches: tx.watches}
	db, whole := c.db, false
	for _, q := range tx.queue {
		if q.spec.Name == "select" {
			if n, ok := parseInt(q.args[1]); ok && n >= 0 && n < databases {
				db = int(n)
			}
		}
		if q.spec.Scope == command.ScopeNode {
			continue
		}
		call.Txn.Ops = append(call.Txn.Ops, fsm.Op{DB: db, Args: q.args})
		addSlots(call, q.spec, q.args)
		whole = whole || q.spec.Scope != command.ScopeKeys
	}
	for i := range tx.watches {
		call.Slots = append(call.Slots, uint16(slotOf(tx.watches[i].Key)))
	}
	if whole && c.backend.Shards() > 1 {
		// It would have to be atomic over all shards: no shard is the right one.
		call.Slots, call.Shard = nil, -1
	}
}

// writeReplies writes EXEC's array: the txn's replies, and between them what
// commands on the node answer now.
func (c *Client) writeReplies(tx *transaction, replies []byte) {
	c.out.Array(len(tx.queue))
	for _, q := range tx.queue {
		if q.spec.Scope == command.ScopeNode {
			functions[q.spec.Name].run(c, q.args)
			c.stats.ran(q.spec, 0, false)
			continue
		}
		n := resp.Skip(replies)
		c.out.Raw(replies[:n])
		replies = replies[n:]
	}
}
