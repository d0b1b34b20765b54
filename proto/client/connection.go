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

// Connection is a client as others see it: what CLIENT LIST shows of it, and how it is ended. Any goroutine may call its
// methods.
type Connection struct {
	id     uint64
	conn   *resp.Guard
	pushes *pushes
	access Access

	// mu guards what follows, down to waitEnd.
	mu                sync.Mutex
	name              string
	libName, libVer   string
	last              *command.Spec
	created, lastUsed time.Time
	db, watch, proto  int
	sub, psub, ssub   int
	// txBytes is what the queued commands and the watched keys take.
	txBytes int
	// held: a pause holds the client back.
	held bool
	// multi is the number of queued commands, -1 outside a transaction.
	multi int
	// flags are what stands before and behind those of blocking and tracking.
	flags [2]string
	// tracks, bcast and redirect are CLIENT TRACKING's; redirect is -1 without it.
	tracks, bcast bool
	redirect      int64
	// user is the client's, judged the one by which Rejudge last looked at it.
	user, judged *acl.Account
	// subs are the client's subscriptions. Its own goroutine alone changes them, under the lock, and may read them without
	// it. subBytes is the length of their names.
	subs     subscriptions
	subBytes int
	// wait is what a blocked client waits to run.
	wait queued
	// letGo ends the wait of a blocked client; nil when it is not blocked.
	letGo context.CancelCauseFunc
	// waitEnd is that wait's end.
	waitEnd *waitEnd

	// listens: the client waits for messages, or for what others run, so that its silence means nothing;
	// subscribed: it waits for messages.
	listens, subscribed atomic.Bool
	killed              atomic.Bool
	// busy: a batch is being answered.
	busy atomic.Bool
}

// ID is the client's number, which no other client of this node has had.
func (c *Connection) ID() uint64 { return c.id }

// RemoteAddr is the client's address.
func (c *Connection) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// LocalAddr is the address that the client came to.
func (c *Connection) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// Age is how long ago the client came.
func (c *Connection) Age(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.created)
}

// UserName is the name of the user that the client goes by.
func (c *Connection) UserName() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user.Name
}

// Listens tells whether the client waits for messages, or for what others run: Redis does not close such a client for
// being idle.
func (c *Connection) Listens() bool { return c.listens.Load() }

// Subscribed tells whether the client waits for messages.
func (c *Connection) Subscribed() bool { return c.subscribed.Load() }

// Name is what the client calls itself; "" if it has said nothing.
func (c *Connection) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// nameBytesMax bounds what a client says of itself. Each client's is kept, and CLIENT LIST shows those of all.
const nameBytesMax = 4096

const errLongName = "ERR what a client says of itself may have 4096 bytes"

// printable tells whether a text can stand in CLIENT LIST.
func printable(text []byte) bool {
	for _, ch := range text {
		if ch < '!' || ch > '~' {
			return false
		}
	}
	return true
}

// SetName names the client; refusal is the text of the error, "" if it has the name.
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

// SetLibrary notes "lib-name" or "lib-ver", the name or the version of the client's library; refusal is as SetName's.
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

// flagsNow are the flags in CLIENT LIST, in Redis's order; c.mu is held.
func (c *Connection) flagsNow(broken bool) string {
	now := letters(flag{c.letGo != nil || c.held, 'b'}, flag{c.tracks, 't'}, flag{c.tracks && broken, 'R'}, flag{c.bcast, 'B'})
	return cmp.Or(c.flags[0]+now+c.flags[1], "N")
}

// kill ends a connection, at the latest when its batch at hand is answered.
func (c *Connection) kill() {
	c.killed.Store(true)
	_ = c.conn.Close()
}

// Kind is the client's type, normal or pubsub, as CLIENT LIST and KILL know types.
func (c *Connection) Kind() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub+c.psub+c.ssub > 0 {
		return "pubsub"
	}
	return "normal"
}

// Line describes the client as CLIENT LIST does, in the fields of Redis 7.2, the version that INFO names: client
// libraries refuse a field that they do not know. What a Go server has no number for is 0.
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

// heldBytes is what a client holds in memory: its requests, its transaction, its
// subscriptions and what waits for it. exempt: it has asked not to be evicted.
func (c *Connection) heldBytes() (bytes int64, exempt bool) {
	use := c.conn.Usage()
	bytes = use.QueryBytes + use.WaitingBytes + c.pushes.bytes()
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes + int64(c.txBytes+c.subBytes), strings.Contains(c.flags[1], noEvictFlag)
}

// Unblock ends the wait of a blocked client, with an error or as if its time were over. It returns when no write can
// serve the wait any more; false: the client was not blocked, or a write that came before has served it.
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

// End ends the connection, at the latest when its batch at hand is answered. If the client waits in a blocking command,
// over is closed when no write can serve that any more; otherwise over is nil.
func (c *Connection) End() (over <-chan struct{}) {
	c.kill()
	ended := c.endWait(errConnectionEnd)
	if ended == nil {
		return nil
	}
	return ended.over
}

// endWait lets a blocked client go on; nil: it was not blocked.
func (c *Connection) endWait(why error) *waitEnd {
	c.mu.Lock()
	letGo, ended := c.letGo, c.waitEnd
	c.letGo = nil // For others it is not blocked from now on.
	c.mu.Unlock()
	if letGo == nil {
		return nil
	}
	letGo(why)
	return ended
}

// dismiss ends a connection. The client still gets the replies that are on their way, unless it waits for something.
func (c *Connection) dismiss() {
	c.killed.Store(true)
	c.mu.Lock()
	waits := c.letGo != nil || c.held
	c.mu.Unlock()
	if waits || !c.busy.Load() {
		c.kill()
	}
}

// rejudge tells whether a client must go.
func (c *Connection) rejudge(now *acl.Users) (out bool) {
	if d := min(now.Doubt(), c.access.Users().Doubt()); d == acl.DoubtAll || d == acl.DoubtAdmin && c.pushes.monitoring() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Successor(c.judged) == c.judged {
		return false
	}
	// Those may be the users of a moment ago, and the client may have logged in since.
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

// hear notes a subscription or its end. Only the client's own goroutine calls it.
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
