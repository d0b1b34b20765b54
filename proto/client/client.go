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
// The functions of commands that need no data are listed in functions.go; their
// rows are in the one command table, like all others'.
package client

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/proto/resp"
)

// Conn is what a client needs of its connection; resp.Guard is one.
type Conn interface {
	RemoteAddr() net.Addr
	LocalAddr() net.Addr
	// Write sends replies; an error is final.
	Write([]byte) (int, error)
	// SetAuthenticated lifts the limits of clients that are not logged in.
	SetAuthenticated(bool)
	Usage() resp.Usage
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

	id       uint64
	db       int
	proto    int
	authed   bool
	readonly bool
	noTouch  bool
	noEvict  bool
	reply    replyMode
	// closing: the connection is closed after the replies are written; silent:
	// they are not.
	closing, silent bool
	tx              transaction
	// out takes the replies of commands that ran in place. While calls are
	// gathered, theirs come in between.
	out   reply.Writer
	calls calls
	// settings are those of the batch at hand, last is its last command.
	settings *Settings
	last     *command.Spec

	shared shared
}

// shared is what CLIENT LIST shows, guarded by mu.
type shared struct {
	mu                sync.Mutex
	name              string
	libName, libVer   string
	last              *command.Spec
	created, lastUsed time.Time
	db, watch, proto  int
	// multi is the number of queued commands, -1 outside a transaction.
	multi int
	flags string

	killed atomic.Bool
}

// New returns the client of a fresh connection and registers it.
func New(ctx context.Context, b *Backend, r *Registry, s *Stats, conn Conn) *Client {
	now := time.Now()
	c := &Client{
		backend: b, registry: r, stats: s, conn: conn, ctx: ctx,
		proto: reply.RESP2, settings: b.Settings(),
	}
	c.out.Reset(c.proto)
	c.shared.created, c.shared.proto, c.shared.multi = now, c.proto, -1
	c.logIn(c.settings.RequirePass == "")
	c.note(now)
	r.add(c)
	return c
}

// Close forgets the client.
func (c *Client) Close() { c.registry.remove(c) }

// Farewell tells the client why its connection will be closed.
func (c *Client) Farewell(text string) {
	c.errorReply(text)
	c.write()
}

// logIn changes whether the client is logged in.
func (c *Client) logIn(yes bool) {
	c.authed = yes
	c.conn.SetAuthenticated(yes)
}

// flushBytes is how many bytes of replies are gathered before they are written
// even though the batch goes on.
const flushBytes = 64 << 10

// Handle answers a batch of commands. It returns false when the connection is
// to be closed. args and what they point to belong to the caller again when it
// returns.
func (c *Client) Handle(batch [][][]byte) bool {
	if len(batch) == 0 {
		return true
	}
	c.settings = c.backend.Settings()
	c.calls.reserve(len(batch))
	for _, args := range batch {
		c.command(args)
		if c.closing {
			break
		}
		if c.out.Len() > flushBytes && c.calls.empty() && !c.write() {
			return false
		}
	}
	c.settle()
	c.note(time.Now())
	return c.write() && !c.closing && !c.shared.killed.Load()
}

// write sends the replies gathered.
func (c *Client) write() bool {
	if c.out.Len() == 0 || c.silent {
		return true
	}
	_, err := c.conn.Write(c.out.Bytes())
	c.out.Release(4 * flushBytes)
	c.out.Reset(c.proto)
	return err == nil
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
	s.flags = c.flags()
	s.mu.Unlock()
}

func (c *Client) flags() string {
	var f []byte
	for _, flag := range []struct {
		on     bool
		letter byte
	}{{c.tx.open, 'x'}, {c.readonly, 'r'}, {c.noEvict, 'e'}, {c.noTouch, 'T'}} {
		if flag.on {
			f = append(f, flag.letter)
		}
	}
	if f == nil {
		return "N"
	}
	return string(f)
}

// command answers one command, or gathers or queues it.
func (c *Client) command(args [][]byte) {
	if c.reply == replySkipNext {
		c.reply = replySkip
	}
	c.dispatch(args)
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
	c.stats.countError(c.out.Bytes()[begin:])
	c.mute(begin)
}

func (c *Client) dispatch(args [][]byte) {
	spec, container := command.Lookup(args)
	if spec != nil {
		c.last = spec
	}
	refusal := c.refusal(spec, container, args)
	switch {
	case refusal != "":
		c.reject(spec, refusal)
	case spec == nil:
		// Speaks HTTP: cut off, as Redis does.
	case c.tx.open && !runsInMulti(spec):
		c.enqueue(spec, args)
	case spec == execSpec:
		c.exec()
	case spec.Scope == command.ScopeNode:
		c.runNode(spec, args)
	case spec.Scope != command.ScopeKeys && c.backend.Shards() > 1:
		c.runEverywhere(spec, args)
	default:
		c.gather(spec, args)
	}
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
	case spec.Name == "debug" && !c.mayDebug():
		return errDebug
	case !c.authed && !spec.Is(command.NoAuth):
		return "NOAUTH Authentication required."
	case c.tx.open && spec.Is(command.NoMulti):
		return "ERR Command not allowed inside a transaction"
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
		c.stats.of(spec).rejected.Add(1)
		if spec == execSpec {
			text = "EXECABORT Transaction discarded because of: " + withoutCode(text)
			c.tx = transaction{}
		}
	}
	c.errorReply(text)
}

// runNode runs a command that needs no data, in place.
func (c *Client) runNode(spec *command.Spec, args [][]byte) {
	f := functions[spec.Name]
	if !f.light {
		c.settle()
	}
	begin := c.out.Len()
	started := time.Now()
	f.run(c, args)
	took := time.Since(started)
	written := c.out.Bytes()[begin:]
	failed := len(written) > 0 && written[0] == '-'
	if failed {
		c.stats.countError(written)
	}
	c.mute(begin)
	c.stats.ran(spec, took, failed)
	c.slow(spec, args, took)
}
