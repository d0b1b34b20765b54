// Package client is one connection's state: its database, its login, its
// transaction, what it watches, the protocol it speaks; and what each command
// means in that state.
//
// Commands come in batches: all that had arrived when the last batch was
// answered. Walking a batch, a client gathers commands on data as calls, and
// hands them to the Executor together, before the next command that must see
// what they did and at the end of the batch. Commands on the node and on the
// connection run in place. So replies stand in the order of requests, and a
// batch costs one write to the socket.
//
// A transaction becomes one txn: its commands on data, each with the database
// it was queued for. Commands in it that need no data (PING, SELECT) run when
// the txn's replies are there, each at its place among them.
//
// The functions of commands that need no data stand in functions.go; their rows
// are in the one command table, like all others'.
package client

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/fsm"
)

// Conn is what a client needs of its connection.
type Conn interface {
	RemoteAddr() net.Addr
	LocalAddr() net.Addr
	Close() error
}

// replyMode is what CLIENT REPLY chose.
type replyMode uint8

const (
	replyOn replyMode = iota
	replyOff
	// replySkipNext mutes the command after the one at hand, replySkip the one
	// at hand.
	replySkipNext
	replySkip
)

// Client is one connection's state. It belongs to the goroutine that reads the
// connection; what others look at is in shared.
type Client struct {
	backend  *Backend
	registry *Registry
	stats    *Stats
	conn     Conn
	ctx      context.Context
	// onLogin is told when the client logs in, so that the guard lifts its limits.
	onLogin func()

	id       uint64
	db       int
	proto    int
	authed   bool
	readonly bool
	noTouch  bool
	noEvict  bool
	reply    replyMode
	// closing: the connection is closed after the replies are written.
	closing bool
	tx      transaction
	out     reply.Writer
	// flush writes out's content to the socket.
	flush func([]byte) error

	calls callBatch

	shared shared
}

// shared is what CLIENT LIST shows; guarded by mu.
type shared struct {
	mu                sync.Mutex
	name              string
	libName, libVer   string
	lastCommand       string
	created, lastUsed time.Time
	db, multi, watch  int
	proto             int
	flags             string
	queryBytes        int
	killed            atomic.Bool
}

// New returns the client of a fresh connection.
func New(ctx context.Context, b *Backend, r *Registry, s *Stats, conn Conn, flush func([]byte) error, onLogin func()) *Client {
	now := time.Now()
	c := &Client{
		backend: b, registry: r, stats: s, conn: conn, ctx: ctx, flush: flush, onLogin: onLogin,
		proto: reply.RESP2,
	}
	c.out.Reset(c.proto)
	c.shared.created, c.shared.lastUsed, c.shared.proto = now, now, c.proto
	c.authed = b.Settings().RequirePass == ""
	if c.authed {
		onLogin()
	}
	r.add(c)
	return c
}

// Close forgets the client.
func (c *Client) Close() {
	c.registry.remove(c)
}

// flushBytes is how many bytes of replies are gathered before they are written
// even though the batch goes on.
const flushBytes = 64 << 10

// Handle answers a batch of commands. It returns false when the connection is
// to be closed. args and what they point to belong to the caller again when it
// returns.
func (c *Client) Handle(batch [][][]byte) bool {
	for _, args := range batch {
		c.command(args)
		if c.closing {
			break
		}
		if c.out.Len() > flushBytes && !c.write() {
			return false
		}
	}
	c.runCalls()
	if len(batch) > 0 {
		c.note(batch[len(batch)-1])
	}
	return c.write() && !c.closing && !c.shared.killed.Load()
}

// write sends what was gathered.
func (c *Client) write() bool {
	if c.out.Len() == 0 {
		return true
	}
	err := c.flush(c.out.Bytes())
	c.out.Release(flushBytes * 4)
	c.out.Reset(c.proto)
	return err == nil
}

// note keeps for CLIENT LIST what the batch left behind.
func (c *Client) note(last [][]byte) {
	s := &c.shared
	s.mu.Lock()
	s.lastUsed = time.Now()
	if spec, _ := command.Lookup(last); spec != nil {
		s.lastCommand = spec.Name
	}
	s.db, s.proto, s.watch = c.db, c.proto, len(c.tx.watches)
	s.multi = -1
	if c.tx.open {
		s.multi = len(c.tx.queue)
	}
	s.flags = c.flags()
	s.mu.Unlock()
}

func (c *Client) flags() string {
	f := ""
	if c.tx.open {
		f += "x"
	}
	if c.readonly {
		f += "r"
	}
	if c.noEvict {
		f += "e"
	}
	if c.noTouch {
		f += "T"
	}
	if f == "" {
		return "N"
	}
	return f
}

// command answers one command, or gathers or queues it.
func (c *Client) command(args [][]byte) {
	spec, container := command.Lookup(args)
	if c.reply == replySkipNext {
		c.reply = replySkip
	}
	if refusal := c.refusal(spec, container, args); refusal != "" {
		c.fail(spec, refusal)
	} else if c.tx.open && !endsQueueing(spec) {
		c.enqueue(spec, args)
	} else if spec.Scope == command.ScopeNode {
		c.runNode(spec, args)
	} else {
		c.addCall(spec, args)
	}
	if c.reply == replySkip {
		c.reply = replyOn
	}
}

// refusal says why a command cannot run at all; "" if it can.
func (c *Client) refusal(spec, container *command.Spec, args [][]byte) string {
	switch {
	case spec == nil && container != nil:
		return command.ErrUnknownSubcommand(args)
	case spec == nil || spec.Internal():
		return command.ErrUnknownCommand(args)
	case !spec.CheckArity(len(args)):
		return command.ErrArity(spec)
	case !c.authed && !spec.Is(command.NoAuth):
		return "NOAUTH Authentication required."
	}
	return ""
}

// fail answers an error for a command that did not run; a transaction being
// queued will not run either.
func (c *Client) fail(spec *command.Spec, text string) {
	if c.tx.open {
		c.tx.dirty = true
	}
	if spec != nil {
		c.stats.of(spec).rejected.Add(1)
	}
	c.runCalls()
	c.errorReply(text)
}

// errorReply writes an error and counts it.
func (c *Client) errorReply(text string) {
	begin := c.out.Len()
	c.out.Error(text)
	c.stats.countError(c.out.Bytes()[begin:])
	c.mute(begin)
}

// mute takes back what was written since begin if the client wants no reply.
func (c *Client) mute(begin int) {
	if c.reply == replyOff || c.reply == replySkip {
		c.out.Truncate(begin)
	}
}

// runNode runs a command that needs no data, in place.
func (c *Client) runNode(spec *command.Spec, args [][]byte) {
	c.runCalls()
	begin := c.out.Len()
	started := time.Now()
	functions[spec.Name](c, args)
	written := c.out.Bytes()[min(begin, c.out.Len()):]
	c.stats.ran(spec, time.Since(started), len(written) > 0 && written[0] == '-')
	if len(written) > 0 && written[0] == '-' {
		c.stats.countError(written)
	}
	c.slow(spec, args, time.Since(started))
	if c.reply == replyOff || c.reply == replySkip {
		c.out.Truncate(min(begin, c.out.Len()))
	}
}

// callBatch is the calls gathered, with memory that is used again.
type callBatch struct {
	calls []cluster.Call
	ptrs  []*cluster.Call
	specs []*command.Spec
	ops   []fsm.Op
	muted []bool
}

// callsMax bounds the calls gathered before they are run.
const callsMax = 1024

// addCall gathers a command on data.
func (c *Client) addCall(spec *command.Spec, args [][]byte) {
	if spec.Scope != command.ScopeKeys && c.backend.Shards() > 1 {
		c.runEverywhere(spec, args)
		return
	}
	b := &c.calls
	if len(b.calls) == callsMax {
		c.runCalls()
	}
	if b.calls == nil {
		// The calls must not move while pointers to them are out.
		b.calls = make([]cluster.Call, 0, 16)
		b.ops = make([]fsm.Op, 0, 16)
	}
	if len(b.calls) == cap(b.calls) {
		c.growCalls()
	}
	b.ops = append(b.ops, fsm.Op{DB: c.db, Args: args})
	b.calls = append(b.calls, cluster.Call{})
	call := &b.calls[len(b.calls)-1]
	n := len(b.ops)
	call.Txn = fsm.Txn{Proto: uint8(c.proto), Ops: b.ops[n-1 : n : n]}
	call.ReadOnly = !spec.Writes(args)
	call.Stale = call.ReadOnly && c.readonly
	if moved := c.route(call, spec, args); moved != "" {
		b.calls, b.ops = b.calls[:n-1], b.ops[:n-1]
		c.runCalls()
		c.errorReply(moved)
		return
	}
	b.specs = append(b.specs, spec)
	b.muted = append(b.muted, c.reply == replyOff || c.reply == replySkip)
}

// growCalls doubles the room; the calls in it are copied before anybody has a
// pointer to them.
func (c *Client) growCalls() {
	b := &c.calls
	calls := make([]cluster.Call, len(b.calls), 2*cap(b.calls))
	ops := make([]fsm.Op, len(b.ops), 2*cap(b.ops))
	copy(ops, b.ops)
	for i := range b.calls {
		old := &b.calls[i]
		calls[i] = cluster.Call{Txn: old.Txn, ReadOnly: old.ReadOnly, Stale: old.Stale, Shard: old.Shard}
		calls[i].Txn.Ops = ops[i : i+1 : i+1]
		if len(old.Slots) == 1 {
			calls[i].SetSlot(int(old.Slots[0]))
		} else {
			calls[i].Slots = old.Slots
		}
	}
	b.calls, b.ops = calls, ops
}

// runCalls runs the calls gathered so far and writes their replies.
func (c *Client) runCalls() {
	b := &c.calls
	if len(b.calls) == 0 {
		return
	}
	b.ptrs = b.ptrs[:0]
	for i := range b.calls {
		b.ptrs = append(b.ptrs, &b.calls[i])
	}
	started := time.Now()
	c.backend.Do(c.ctx, b.ptrs)
	each := time.Since(started) / time.Duration(len(b.calls))
	for i := range b.calls {
		c.answerCall(&b.calls[i], b.specs[i], b.muted[i], each)
	}
	clear(b.calls)
	clear(b.ops)
	b.calls, b.ops, b.specs, b.muted = b.calls[:0], b.ops[:0], b.specs[:0], b.muted[:0]
	if cap(b.calls) > 128 {
		*b = callBatch{}
	}
}

func (c *Client) answerCall(call *cluster.Call, spec *command.Spec, muted bool, took time.Duration) {
	if call.Err != nil {
		call.Reply = c.callError(call.Err)
	}
	failed := len(call.Reply) > 0 && call.Reply[0] == '-'
	c.stats.ran(spec, took, failed)
	if failed {
		c.stats.countError(call.Reply)
	}
	c.slow(spec, call.Txn.Ops[0].Args, took)
	if muted {
		return
	}
	c.out.Raw(call.Reply)
	if c.out.Len() > flushBytes {
		// A failed write shows at the next one.
		c.write()
	}
}
