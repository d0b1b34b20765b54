// Package client holds the state of one connection: its database, its login, its
// transaction, the keys that it watches, and its protocol version. It also decides
// what each command means in that state.
//
// Commands come in batches. A batch is all commands that had arrived when the batch
// before it was answered. A client walks through its batch and collects the data
// commands as calls (calls.go). It gives the calls to the Executor together: at the
// end of the batch, and before a command that must see the effects of the calls.
// Commands on the connection itself run at once, and their replies wait for the
// replies before them.
//
// Invariants:
//   - Replies stand in the order of the requests.
//   - A batch of commands on data costs one round to the shards and one write to
//     the socket. To run command after command would cost a round for each, and a
//     client with a pipeline would wait for each in turn.
//   - A transaction becomes one txn (transaction.go), which runs as a whole: the
//     transaction's commands on data, each with the database it was queued for.
//     Its commands that need no data (PING, SELECT) run when the txn's replies
//     have come, and their replies stand at their places among the others.
//
// Each file lists its handlers of commands that need no data; more handlers are in
// package admin. table.go gives each row of the command table its handler.
package client

import (
	"context"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/proto/pubsub"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

// Client is one connection's state. It belongs to the goroutine that reads the
// connection. Other goroutines use only shared.
type Client struct {
	environment
	// out holds the replies until they are written, calls the data commands of the batch.
	out   output
	calls calls
	// records shows and counts what the client runs.
	records records
	// listener is what the client gets outside the order of its requests.
	listener listener
	// The client's user, what the client has read, and what its reads must see.
	login
	tracker
	freshness

	db               int
	noTouch, noEvict bool
	tx               transaction
	// last is the last command of the current batch.
	last *command.Spec

	// request is passed to handlers of other packages.
	request Request

	// OnBlock is called when the client is blocked and when it goes on. It may be
	// nil.
	OnBlock func(blocked bool)
}

// New returns the client of a fresh connection and registers it.
func New(ctx context.Context, b *Backend, r *Registry, s *stats.Stats, conn *resp.Guard) *Client {
	now := time.Now()
	c := &Client{environment: environment{backend: b, registry: r, stats: s, conn: conn, ctx: ctx, settings: b.Settings()}}
	env := &c.environment
	c.out.env, c.records.env = env, env
	c.calls.env, c.calls.out, c.calls.records = env, &c.out, c.records
	c.out.Reset(reply.RESP2)
	c.listener = listener{env: env, out: &c.out, pushes: &pushes{conn: conn, registry: r, proto: reply.RESP2}}
	c.tracker = tracker{env: env, listener: &c.listener}
	c.freshness.owners = b
	c.request.Out, c.request.c = &c.out.Writer, c
	c.shared.conn, c.shared.pushes, c.shared.access = conn, c.listener.pushes, b.Access
	c.shared.created, c.shared.proto, c.shared.multi = now, reply.RESP2, -1
	c.login = login{env: env, tx: &c.tx, note: c.note, users: b.Users()}
	c.becomeDefault()
	c.note(now)
	r.add(&c.shared)
	return c
}

// Connection is the client as other goroutines see it.
func (c *Client) Connection() *Connection { return &c.shared }

// Close forgets the client.
func (c *Client) Close() {
	c.calls.later.Kick()
	c.listener.unsubscribeAll()
	c.untrack()
	c.listener.unmonitor()
	c.registry.remove(&c.shared)
}

// Farewell sends the client the reason why its connection will be closed.
func (c *Client) Farewell(text string) {
	c.out.countedError(text)
	c.out.write()
}

// note updates, for CLIENT LIST, the state after the batch.
func (c *Client) note(now time.Time) {
	s := &c.shared
	s.mu.Lock()
	s.lastUsed, s.last = now, c.last
	s.db, s.proto, s.watch, s.multi = c.db, c.out.Proto, len(c.tx.watches), -1
	if c.tx.open {
		s.multi = len(c.tx.queue)
	}
	s.sub, s.psub, s.ssub = len(c.shared.subs[pubsub.Channel]), len(c.shared.subs[pubsub.Pattern]), len(c.shared.subs[pubsub.Shard])
	s.flags, s.txBytes = c.flags(), c.tx.bytes+c.tx.watchBytes
	s.tracks, s.bcast, s.redirect = c.caching.on, c.caching.opt.BCast, c.caching.redir()
	s.mu.Unlock()
	s.listens.Store(c.listener.monitoring || c.shared.subs.total() > 0)
	s.subscribed.Store(c.shared.subs.total() > 0)
}

func (c *Client) flags() [2]string {
	return [2]string{
		letters(flag{c.listener.monitoring, 'O'}, flag{c.shared.subs.total() > 0, 'P'}, flag{c.tx.open, 'x'}),
		letters(flag{c.readonly, 'r'}, flag{c.noEvict, noEvictFlag[0]}, flag{c.noTouch, 'T'}),
	}
}

// noEvictFlag is the flag of a client that has asked not to be evicted.
const noEvictFlag = "e"

// flag is a letter that CLIENT LIST shows when on is true.
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

// refusal says why a command cannot run at all, or "" if it can. The order of the
// checks is Redis's.
func (c *Client) refusal(spec, container *command.Spec, args [][]byte) string {
	switch {
	case spec == nil && container != nil:
		return command.ErrUnknownSubcommand(args)
	case spec == nil && isHTTP(args[0]):
		// The commands before it are answered, but this one is not.
		c.calls.run()
		c.out.write()
		c.out.closing, c.out.silent = true, true
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

// untimely says why a command that the user may run cannot run now, or "" if it
// can.
func (c *Client) untimely(spec *command.Spec, args [][]byte) string {
	switch {
	case c.listener.listeningOnly() && !spec.Has(command.WhileSubscribed):
		return errListening(spec)
	case c.tx.open && spec.Is(command.DenyOOM) && c.backend.Memory.MemoryFull():
		return command.ErrOOM
	case c.listener.monitoring && spec.Flags&(command.Write|command.ReadOnly|command.MayReplicate) != 0:
		return errMonitoring
	case spec.Check != nil && !c.tx.open:
		return spec.Check(args)
	}
	return ""
}

// isHTTP recognizes the request of a browser that was sent here: the first words of
// a request and of its header.
func isHTTP(word []byte) bool { return fold(word) == "post" || fold(word) == "host:" }

// reject answers an error for a command that did not run. A transaction that is
// being queued will then not run either.
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
	c.out.countedError(text)
}

// runNode runs a command that needs no data, in place.
func (c *Client) runNode(spec *command.Spec, args [][]byte) {
	if !spec.Has(command.Light) {
		c.calls.run()
	}
	if spec.Has(command.CallsOut) && !c.out.write() {
		c.out.closing = true
		return
	}
	begin := c.out.Len()
	started := time.Now()
	c.inPlace(c.backend.Handlers[spec.Number()], args)
	took := time.Since(started)
	c.records.show(spec, args, c.db)
	written := c.out.Bytes()[begin:]
	if failed := c.records.count(spec, took, written); failed || !spec.Has(command.Confirms) {
		c.out.mute(begin)
	}
	c.records.slow(spec, args, took)
}

const errLongInPlace = "ERR the reply is longer than a reply may be; the command was executed"

// inPlace runs a handler. Its reply is bounded like those of data commands, because a command that
// names an item a million times may get its description a million times.
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

// headRoom is the room for the framing of a reply of one string, in bytes.
const headRoom = 64
