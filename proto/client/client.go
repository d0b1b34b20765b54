// Package client is one connection's state: its database, its login, its
// transaction, what it watches, the protocol it speaks; and what each command
// means in that state.
//
// Commands come in batches: all that had arrived when the last batch was
// answered. Walking a batch, a client gathers commands on data as calls
// (calls.go) and hands them to the Executor together: at the end of the batch,
// and before a command that must see what they did. Commands on the connection
// run in place; their replies wait for those before them. So replies stand in
// the order of requests, and a batch costs one round to the shards and one
// write to the socket.
//
// A transaction becomes one txn (transaction.go): its commands on data, each
// with the database it was queued for. Commands in it that need no data (PING,
// SELECT) run when the txn's replies are there, each at its place among them.
//
// The handlers of commands that need no data are listed in their files, and some
// are in package admin; table.go gives each row of the command table its handler.
package client

import (
	"context"
	"errors"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/proto/pubsub"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

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
	stats    *stats.Stats
	conn     *resp.Guard
	ctx      context.Context

	db    int
	proto int
	// The parts that have state of their own: who the client is, what it has read, and what its reads must see.
	login
	tracker
	freshness

	noTouch bool
	noEvict bool
	// monitoring: the client sees what others run (MONITOR).
	monitoring bool
	reply      replyMode
	// closing: the connection is closed after the replies are written; silent:
	// they are not.
	closing, silent bool
	// lost: replies cannot be written any more. What was sent before is run all the
	// same, as with Redis, but for reads whose replies would be large.
	lost bool
	// noWait: the batch at hand must not wait (Begin, Resume).
	noWait bool
	tx     transaction
	// out takes the replies of commands that ran in place. While calls are
	// gathered, theirs come in between.
	out   reply.Writer
	calls calls
	// later are the clients that have messages of this one's and wait to be kicked.
	later pubsub.Later
	// settings are those of the batch at hand, last is its last command.
	settings *Settings
	last     *command.Spec

	// request is what handlers of other packages get.
	request Request
	// shared is what others see of the client.
	shared Connection

	// OnBlock, when set, is told when the client is blocked and when it goes on.
	OnBlock func(blocked bool)
}

// New returns the client of a fresh connection and registers it.
func New(ctx context.Context, b *Backend, r *Registry, s *stats.Stats, conn *resp.Guard) *Client {
	now := time.Now()
	c := &Client{
		backend: b, registry: r, stats: s, conn: conn, ctx: ctx,
		proto: reply.RESP2, settings: b.Settings(),
	}
	c.tracker = tracker{backend: b, registry: r, shared: &c.shared, pushes: &pushes{conn: conn, registry: r, proto: c.proto}}
	c.freshness.owners = b
	c.out.Reset(c.proto)
	c.request.Out, c.request.c = &c.out, c
	c.shared.conn, c.shared.pushes, c.shared.access = conn, c.pushes, b.Access
	c.shared.created, c.shared.proto, c.shared.multi = now, c.proto, -1
	c.login = login{access: b.Access, conn: conn, shared: &c.shared, users: b.Users()}
	c.begin()
	c.note(now)
	r.add(&c.shared)
	return c
}

// Connection is the client as others see it.
func (c *Client) Connection() *Connection { return &c.shared }

// Close forgets the client.
func (c *Client) Close() {
	c.later.Kick()
	c.unsubscribeAll()
	c.untrack()
	c.unmonitor()
	c.registry.remove(&c.shared)
}

// Farewell tells the client why its connection will be closed.
func (c *Client) Farewell(text string) {
	c.errorReply(text)
	c.write()
}

// flushBytes is how many bytes of replies are gathered before they are written
// even though the batch goes on.
const flushBytes = 64 << 10

// gatherAll walks a batch: what can run in place has run then, and calls are
// gathered. Rows are those of the commands, or nil if nobody has looked for them yet.
// false: the client may not go on.
func (c *Client) gatherAll(batch [][][]byte, rows []*command.Spec) bool {
	c.settings = c.backend.Settings()
	if !c.renew() {
		return false
	}
	c.calls.reserve(len(batch))
	if c.pushed {
		c.pushes.hold()
	}
	for i, args := range batch {
		if i > 0 && c.calls.empty() && (c.shared.killed.Load() || !c.renew()) {
			// The command before has waited, it may be for long, and the user is gone, or
			// somebody has killed the client.
			c.closing = true
			break
		}
		var row *command.Spec
		if rows != nil {
			row = rows[i]
		}
		c.command(args, row)
		if c.closing {
			break
		}
		if c.out.Len() > flushBytes && c.calls.empty() || c.out.Len() > repliesBytes && !c.noWait {
			// So much is not kept for the sake of the calls that are gathered.
			c.settle()
			c.write()
			c.awaitRoom()
		}
	}
	return true
}

// awaitRoom slows a client down for which much waits to be read. It does nothing in a batch that
// must not wait.
func (c *Client) awaitRoom() {
	if !c.noWait && !c.lost {
		c.conn.AwaitRoom(c.ctx)
	}
}

// finish ends a batch whose calls are answered; false: the connection is to be
// closed.
func (c *Client) finish() bool {
	c.note(time.Now())
	written := c.write()
	if c.pushed {
		c.pushes.release()
	}
	return written && !c.closing
}

// write sends the replies gathered.
func (c *Client) write() bool {
	if c.out.Len() == 0 || c.silent {
		return !c.lost
	}
	_, err := c.conn.Write(c.out.Bytes())
	c.out.Release(4 * flushBytes)
	c.out.Reset(c.proto)
	if err != nil {
		// Who did not read is cut off at once.
		c.lost, c.closing = true, c.closing || errors.Is(err, resp.ErrOutputBuffer)
	}
	return !c.lost
}

// note keeps for CLIENT LIST what the batch left behind.
func (c *Client) note(now time.Time) {
	s := &c.shared
	s.mu.Lock()
	s.lastUsed, s.last = now, c.last
	s.db, s.proto, s.watch, s.multi = c.db, c.proto, len(c.tx.watches), -1
	if c.tx.open {
		s.multi = len(c.tx.queue)
	}
	s.sub, s.psub, s.ssub = len(c.shared.subs[pubsub.Channel]), len(c.shared.subs[pubsub.Pattern]), len(c.shared.subs[pubsub.Shard])
	s.flags, s.txBytes = c.flags(), c.tx.bytes+c.tx.watchBytes
	s.tracks, s.bcast, s.redirect = c.caching.on, c.caching.opt.BCast, c.caching.redir()
	s.mu.Unlock()
	s.listens.Store(c.monitoring || c.shared.subs.total() > 0)
	s.subscribed.Store(c.shared.subs.total() > 0)
}

func (c *Client) flags() [2]string {
	return [2]string{
		letters(flag{c.monitoring, 'O'}, flag{c.shared.subs.total() > 0, 'P'}, flag{c.tx.open, 'x'}),
		letters(flag{c.readonly, 'r'}, flag{c.noEvict, noEvictFlag[0]}, flag{c.noTouch, 'T'}),
	}
}

// noEvictFlag is the letter of a client that has asked not to be evicted.
const noEvictFlag = "e"

// flag is a letter in CLIENT LIST that stands there when on.
type flag struct {
	on     bool
	letter byte
}

func letters(flags ...flag) string {
	var b []byte
	for _, f := range flags {
		if f.on {
			b = append(b, f.letter)
		}
	}
	return string(b)
}

// command answers one command, or gathers or queues it.
func (c *Client) command(args [][]byte, row *command.Spec) {
	if c.reply == replySkipNext {
		c.reply = replySkip
	}
	spec := c.dispatch(args, row)
	c.forgetCaching(spec)
	if c.reply == replySkip {
		c.reply = replyOn
	}
}

func (c *Client) muted() bool { return c.reply == replyOff || c.reply == replySkip }

// mute takes back what was written since begin if the client wants no reply.
// Calls must not have been settled in between.
func (c *Client) mute(begin int) {
	if c.muted() {
		c.out.Truncate(begin)
	}
}

// errorReply writes an error and counts it.
func (c *Client) errorReply(text string) {
	begin := c.out.Len()
	c.out.Error(text)
	c.stats.CountError(c.out.Bytes()[begin:])
	c.mute(begin)
}

// dispatch returns the command's row, nil if it has none. It looks for it if row is nil.
func (c *Client) dispatch(args [][]byte, row *command.Spec) *command.Spec {
	spec, container := row, (*command.Spec)(nil)
	if row == nil {
		spec, container = command.Lookup(args)
	}
	c.last = spec
	refusal := c.refusal(spec, container, args)
	switch {
	case refusal != "":
		c.reject(spec, refusal)
	case spec != nil && !c.pass(spec, args):
		// A pause held the command back, and it may not run any more.
	case spec == nil:
		// Speaks HTTP: cut off, as Redis does.
	case c.tx.open && !runsInMulti(spec):
		c.enqueue(spec, args)
	case spec.Has(command.RunsQueue):
		c.exec(args[0])
	case spec.Flags&command.Blocking != 0 && c.blocks(spec, args):
	case spec.Has(command.Publishes):
		c.gatherPublish(spec, args)
	case spec.Scope == command.ScopeNode:
		c.runNode(spec, args)
	case spec.Merge != command.MergeNone && c.backend.Shards() > 1:
		c.runEverywhere(spec, args)
	default:
		c.gather(spec, args)
	}
	return spec
}

// refusal says why a command cannot run at all; "" if it can. The order of
// the checks is Redis's.
func (c *Client) refusal(spec, container *command.Spec, args [][]byte) string {
	switch {
	case spec == nil && container != nil:
		return command.ErrUnknownSubcommand(args)
	case spec == nil && isHTTP(args[0]):
		// What came before is answered, this is not.
		c.settle()
		c.write()
		c.closing, c.silent = true, true
		return ""
	case spec == nil || spec.Internal():
		return command.ErrUnknownCommand(args)
	case !spec.CheckArity(len(args)):
		return command.ErrArity(spec)
	case spec.Has(command.Debugs) && !c.mayDebug():
		return errDebug
	case c.mustLogIn() && !spec.Is(command.NoAuth):
		return errNoAuth
	case c.tx.open && spec.Is(command.NoMulti):
		return "ERR Command not allowed inside a transaction"
	}
	if text := c.refusedInDoubt(spec); text != "" {
		return text
	}
	if text := c.denial(spec, args); text != "" {
		return text
	}
	return c.untimely(spec, args)
}

// untimely says why a command that the user may run cannot run now; "" if it
// can.
func (c *Client) untimely(spec *command.Spec, args [][]byte) string {
	switch {
	case c.listeningOnly() && !spec.Has(command.WhileSubscribed):
		return errListening(spec)
	case c.tx.open && spec.Is(command.DenyOOM) && c.backend.Memory.MemoryFull():
		return command.ErrOOM
	case c.monitoring && spec.Flags&(command.Write|command.ReadOnly|command.MayReplicate) != 0:
		return errMonitoring
	case spec.Check != nil && !c.tx.open:
		return spec.Check(args)
	}
	return ""
}

// isHTTP recognizes a browser that was led here: the first words of a request
// and of its header.
func isHTTP(word []byte) bool { return fold(word) == "post" || fold(word) == "host:" }

// reject answers an error for a command that did not run; a transaction that is
// being queued will not run either.
func (c *Client) reject(spec *command.Spec, text string) {
	if c.tx.open {
		c.tx.dirty = true
	}
	if spec != nil {
		c.stats.Rejected(spec)
		if spec.Has(command.RunsQueue) {
			text = execAborted + withoutCode(text)
			c.tx = transaction{}
		}
	}
	c.errorReply(text)
}

// runNode runs a command that needs no data, in place.
func (c *Client) runNode(spec *command.Spec, args [][]byte) {
	if !spec.Has(command.Light) {
		c.settle()
	}
	if spec.Has(command.CallsOut) && !c.write() {
		c.closing = true
		return
	}
	begin := c.out.Len()
	started := time.Now()
	c.inPlace(c.backend.Handlers[spec.Number()], args)
	took := time.Since(started)
	c.seen(spec, args, c.db)
	written := c.out.Bytes()[begin:]
	failed := len(written) > 0 && written[0] == '-'
	if failed {
		c.stats.CountError(written)
	}
	if failed || !spec.Has(command.Confirms) {
		c.mute(begin)
	}
	c.stats.Ran(spec, took, failed)
	c.slow(spec, args, took)
}

const errLongInPlace = "ERR the reply is longer than a reply may be; the command was executed"

// inPlace runs a handler. Its reply is bounded as those of commands on data are: who
// names a thing a million times may be told of it a million times.
func (c *Client) inPlace(h handler, args [][]byte) {
	begin := c.out.Len()
	most := max(mergedBytesMax, c.settings.BulkBytesMax+headRoom)
	c.out.Bound(begin+most, false)
	h(c, args)
	tooLong := c.out.TooLong()
	c.out.Bound(0, false)
	if tooLong {
		c.out.Truncate(begin)
		c.out.Error(errLongInPlace)
	}
}

// headRoom is what a reply of one string has around it, in bytes.
const headRoom = 64

// slow puts a command into the slow log if it took long enough.
func (c *Client) slow(spec *command.Spec, args [][]byte, took time.Duration) {
	s := c.settings
	if !stats.IsSlow(spec, took, s.SlowerThanUs, s.SlowlogLen) {
		return
	}
	c.shared.mu.Lock()
	name := c.shared.name
	c.shared.mu.Unlock()
	c.stats.Slowlog.Add(stats.SlowEntry{
		UnixSec: time.Now().Unix(), Usec: took.Microseconds(), Args: stats.SlowArgs(spec, args),
		Addr: c.conn.RemoteAddr().String(), Name: name,
	}, s.SlowlogLen)
}
