package client

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/engine/command"
	"lockstep/proto/acl"
	"lockstep/proto/pubsub"
	"lockstep/proto/resp"
)

// Connection is a client as other goroutines see it: the fields of CLIENT LIST, and methods to end it. Any goroutine
// may call its methods.
type Connection struct {
	id     uint64
	conn   *resp.Guard
	pushes *pushes
	access Access

	// mu guards the fields from here to waitEnd.
	mu                sync.Mutex
	name              string
	libName, libVer   string
	last              *command.Spec
	created, lastUsed time.Time
	db, watch, proto  int
	sub, psub, ssub   int
	// txBytes is the memory of the queued commands and the watched keys.
	txBytes int
	// held is true if a pause holds the client back.
	held bool
	// multi is the number of queued commands, -1 outside a transaction.
	multi int
	// flags are the flags before and after those of blocking and tracking.
	flags [2]string
	// tracks, bcast and redirect are those of CLIENT TRACKING. redirect is -1
	// without it.
	tracks, bcast bool
	redirect      int64
	// user is the client's user, judged the one that Rejudge last checked.
	user, judged *acl.Account
	// subs are the client's subscriptions. Only the client's own goroutine changes them, under the lock, and only
	// that goroutine may read them without the lock. subBytes is the length of their names.
	subs     subscriptions
	subBytes int
	// wait is the command that a blocked client waits to run.
	wait queued
	// letGo ends the wait of a blocked client. It is nil when the client is not
	// blocked.
	letGo context.CancelCauseFunc
	// waitEnd is the end of that wait.
	waitEnd *waitEnd

	// listens means that the client waits for messages or monitors other clients' commands, so that it is not idle
	// when it sends nothing. subscribed means that it waits for messages.
	listens, subscribed atomic.Bool
	killed              atomic.Bool
	// busy means that a batch is being answered.
	busy atomic.Bool
}

// ID is the client's number, which no other client of this node has had.
func (c *Connection) ID() uint64 { return c.id }

// RemoteAddr is the client's address.
func (c *Connection) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// LocalAddr is the address that the client connected to.
func (c *Connection) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// Age is how long ago the client connected.
func (c *Connection) Age(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.created)
}

// UserName is the name of the client's user.
func (c *Connection) UserName() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user.Name
}

// Listens reports whether the client waits for messages or monitors other clients' commands. Like Redis, the server
// does not close such a client for being idle.
func (c *Connection) Listens() bool { return c.listens.Load() }

// Subscribed reports whether the client waits for messages.
func (c *Connection) Subscribed() bool { return c.subscribed.Load() }

// Name is the name that the client has given itself, or "".
func (c *Connection) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// nameBytesMax bounds the texts by which a client describes itself. They are all kept, and CLIENT LIST shows them.
const nameBytesMax = 4096

const errLongName = "ERR what a client says of itself may have 4096 bytes"

// printable reports whether a text can stand in CLIENT LIST.
func printable(text []byte) bool {
	for _, ch := range text {
		if ch < '!' || ch > '~' {
			return false
		}
	}
	return true
}

// SetName names the client. refusal is the error's text, or "" if the name was set.
func (c *Connection) SetName(name []byte) (refusal string) {
	switch {
	case !printable(name):
		return "ERR Client names cannot contain spaces, newlines or special characters."
	case len(name) > nameBytesMax:
		return errLongName
	}
	c.mu.Lock()
	c.name = string(name)
	c.mu.Unlock()
	return ""
}

// SetLibrary sets "lib-name" or "lib-ver", the name or the version of the client's library. refusal is as in SetName.
func (c *Connection) SetLibrary(attribute string, value []byte) (refusal string) {
	switch {
	case !printable(value):
		return fmt.Sprintf("ERR %s cannot contain spaces, newlines or special characters.", attribute)
	case len(value) > nameBytesMax:
		return errLongName
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if attribute == "lib-name" {
		c.libName = string(value)
	} else {
		c.libVer = string(value)
	}
	return ""
}

// flagsNow are the flags in CLIENT LIST, in Redis's order. The caller holds c.mu.
func (c *Connection) flagsNow(broken bool) string {
	now := letters(flag{c.letGo != nil || c.held, 'b'}, flag{c.tracks, 't'}, flag{c.tracks && broken, 'R'}, flag{c.bcast, 'B'})
	return cmp.Or(c.flags[0]+now+c.flags[1], "N")
}

// kill ends a connection, at the latest when its current batch is answered.
func (c *Connection) kill() {
	c.killed.Store(true)
	_ = c.conn.Close()
}

// Kind is the client's type in CLIENT LIST and KILL: normal or pubsub.
func (c *Connection) Kind() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub+c.psub+c.ssub > 0 {
		return "pubsub"
	}
	return "normal"
}

// Line describes the client as CLIENT LIST does, in the fields of Redis 7.2, the version that INFO names: client
// libraries refuse a field that they do not know. Figures that do not exist in a Go server are 0.
func (c *Connection) Line(now time.Time) string {
	use := c.conn.Usage()
	held, _ := c.heldBytes()
	c.mu.Lock()
	defer c.mu.Unlock()
	last := "NULL"
	if c.last != nil {
		last = c.last.Name
	}
	flags := c.flagsNow(c.pushes.isBroken())
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d multi=%d"+
		" qbuf=%d qbuf-free=0 argv-mem=0 multi-mem=%d rbs=0 rbp=0 obl=0 oll=0 omem=%d tot-mem=%d events=r cmd=%s user=%s redir=%d resp=%d"+
		" lib-name=%s lib-ver=%s",
		c.id, c.conn.RemoteAddr(), c.conn.LocalAddr(), -1, c.name, int(now.Sub(c.created).Seconds()), int(now.Sub(c.lastUsed).Seconds()),
		flags, c.db, c.sub, c.psub, c.ssub, c.multi,
		use.QueryBytes, c.txBytes, use.WaitingBytes, held, last, c.user.Name, c.redirect, c.proto,
		c.libName, c.libVer)
}

// heldBytes is the memory that a client holds: its requests, its transaction, its
// subscriptions and its waiting output. exempt means that it has asked not to be
// evicted.
func (c *Connection) heldBytes() (bytes int64, exempt bool) {
	use := c.conn.Usage()
	bytes = use.QueryBytes + use.WaitingBytes + c.pushes.bytes()
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes + int64(c.txBytes+c.subBytes), strings.Contains(c.flags[1], noEvictFlag)
}

// Unblock ends the wait of a blocked client, with an error or as if its timeout had passed. It returns when no write
// can serve the wait any more. It returns false if the client was not blocked, or if an earlier write has served it.
func (c *Connection) Unblock(ctx context.Context, withError bool) bool {
	why := errUnblockedNil
	if withError {
		why = errUnblocked
	}
	ended := c.endWait(why)
	if ended == nil {
		return false
	}
	select {
	case <-ended.over:
		return !ended.served
	case <-ctx.Done():
		return true
	}
}

// End ends the connection, at the latest when its current batch is answered. If the client waits in a blocking
// command, over is closed when no write can serve that any more; otherwise over is nil.
func (c *Connection) End() (over <-chan struct{}) {
	c.kill()
	ended := c.endWait(errConnectionEnd)
	if ended == nil {
		return nil
	}
	return ended.over
}

// endWait lets a blocked client go on. It returns nil if it was not blocked.
func (c *Connection) endWait(why error) *waitEnd {
	c.mu.Lock()
	letGo, ended := c.letGo, c.waitEnd
	c.letGo = nil // The client counts as not blocked from now on.
	c.mu.Unlock()
	if letGo == nil {
		return nil
	}
	letGo(why)
	return ended
}

// Gone implements cluster.Leaver: the client was killed, or its end of the connection is closed.
func (c *Connection) Gone() bool { return c.killed.Load() || c.conn.Gone() }

// dismiss ends a connection. The client still gets the replies to commands under way, unless it waits in a blocking
// command.
func (c *Connection) dismiss() {
	c.killed.Store(true)
	c.mu.Lock()
	waits := c.letGo != nil || c.held
	c.mu.Unlock()
	if waits || !c.busy.Load() {
		c.kill()
	}
}

// rejudge reports whether the connection must end.
func (c *Connection) rejudge(now *acl.Users) (out bool) {
	if d := min(now.Doubt(), c.access.Users().Doubt()); d == acl.DoubtAll || d == acl.DoubtAdmin && c.pushes.monitoring() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Successor(c.judged) == c.judged {
		return false
	}
	// now may already be outdated, and the client may have logged in since.
	user := c.access.Users().Successor(c.judged)
	switch user {
	case nil:
		return true
	case c.judged:
		return false
	}
	c.judged = user
	if user.MayAll() {
		return false
	}
	if w := c.wait; w.spec != nil && c.letGo != nil && user.Judge(w.spec, w.args).Reason != command.Allowed {
		c.letGo(errNotAllowedAnyMore)
	}
	return !c.subs.allowed(user)
}

// hear records a subscription or its end. Only the client's own goroutine calls it.
func (c *Connection) hear(kind pubsub.Kind, name string, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.subs[kind][name]; there == yes {
		return
	}
	if !yes {
		delete(c.subs[kind], name)
		c.subBytes -= len(name)
		return
	}
	if c.subs[kind] == nil {
		c.subs[kind] = map[string]struct{}{}
	}
	c.subs[kind][name] = struct{}{}
	c.subBytes += len(name)
}
