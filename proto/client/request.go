package client

import (
	"context"
	"time"

	"lockstep/engine/commands"
	"lockstep/engine/reply"
	"lockstep/proto/acl"
	"lockstep/proto/resp"
)

// Request gives a handler of another package access to the client whose command it answers. It is valid until the
// handler returns.
type Request struct {
	// Out takes the reply.
	Out *reply.Writer
	// TakesMark is true if the client can read a file whose end is a mark (REPLCONF capa
	// eof).
	TakesMark bool

	c *Client
}

// Settings are those of the current batch.
func (r *Request) Settings() *Settings { return r.c.settings }

// Context ends when the server closes.
func (r *Request) Context() context.Context { return r.c.ctx }

// Secured reports whether the client connected over TLS.
func (r *Request) Secured() bool { return r.c.conn.Secured() }

// Connection is the client as other goroutines see it, as of the last batch.
func (r *Request) Connection() *Connection { return &r.c.shared }

// ConnectionAt is the client as other goroutines see it, as of now.
func (r *Request) ConnectionAt(now time.Time) *Connection {
	r.c.note(now)
	return &r.c.shared
}

// User is the client's user.
func (r *Request) User() *acl.Account { return r.c.user }

// Users are the current users.
func (r *Request) Users() *acl.Users { return r.c.users }

// ChangeUsers changes the cluster's users. The change may end this connection, after the reply.
func (r *Request) ChangeUsers(work func(*acl.Users) (acl.Change, error)) error {
	err := r.c.backend.ChangeUsers(work)
	r.Renew()
	return err
}

// Renew updates the users to the current ones. If the client's own is gone, the connection ends after the reply.
func (r *Request) Renew() { r.c.out.closing = !r.c.renew() || r.c.out.closing }

// EndConnection ends the connection after the reply.
func (r *Request) EndConnection() { r.c.out.closing = true }

// Flush sends what has been written to Out. It returns false if the client has gone.
func (r *Request) Flush() bool { return r.c.out.write() }

// Guard is the connection, for a reply that is sent in pieces after a Flush.
func (r *Request) Guard() *resp.Guard { return r.c.conn }

// Read runs an internal command that reads, on the shard of its keys, and returns the reply.
func (r *Request) Read(args ...[]byte) []byte { return r.c.one(internalCall(r.c.db, args...)) }

// ReadSlot runs an internal command that reads, on the shard of a hash slot, and returns the reply.
func (r *Request) ReadSlot(slot int, args ...[]byte) []byte {
	call := internalCall(r.c.db, args...)
	call.SetSlot(slot)
	return r.c.one(call)
}

// ReadEverywhere runs an internal command that reads on every shard, and returns the merged reply.
func (r *Request) ReadEverywhere(args [][]byte) []byte {
	spec, _ := commands.Lookup(args)
	return fanOut{r.c}.run(spec, args)
}
