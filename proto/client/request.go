package client

import (
	"context"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/proto/acl"
	"lockstep/proto/resp"
)

// Request is what a handler of another package reaches of the client whose command it answers. It is good until the
// handler returns.
type Request struct {
	// Out takes the reply.
	Out *reply.Writer
	// TakesMark: the client can read a file whose end is a mark (REPLCONF capa eof).
	TakesMark bool

	c *Client
}

// Settings are those of the batch at hand.
func (r *Request) Settings() *Settings { return r.c.settings }

// Context ends when the server closes.
func (r *Request) Context() context.Context { return r.c.ctx }

// Secured tells whether the client came by TLS.
func (r *Request) Secured() bool { return r.c.conn.Secured() }

// Connection is the client as others see it, as of the last batch.
func (r *Request) Connection() *Connection { return &r.c.shared }

// ConnectionAt is the client as others see it, as of now.
func (r *Request) ConnectionAt(now time.Time) *Connection {
	r.c.note(now)
	return &r.c.shared
}

// User is the user that the client goes by, Users all of them.
func (r *Request) User() *acl.Account { return r.c.user }

// Users are the users of the moment.
func (r *Request) Users() *acl.Users { return r.c.users }

// ChangeUsers changes the cluster's users. The connection may end by it, after the reply.
func (r *Request) ChangeUsers(work func(*acl.Users) (acl.Change, error)) error {
	err := r.c.backend.ChangeUsers(work)
	r.Renew()
	return err
}

// Renew takes over what has become of the users. If the client's own is gone, the connection ends after the reply.
func (r *Request) Renew() { r.c.closing = !r.c.renew() || r.c.closing }

// EndConnection ends the connection after the reply.
func (r *Request) EndConnection() { r.c.closing = true }

// Flush sends what has been written to Out; false: the client has gone.
func (r *Request) Flush() bool { return r.c.write() }

// Guard is the connection, for a reply that is sent piece by piece behind a Flush.
func (r *Request) Guard() *resp.Guard { return r.c.conn }

// Read runs an internal command that reads, on the shard of its keys, and returns the reply.
func (r *Request) Read(args ...[]byte) []byte { return r.c.one(r.c.internal(args...)) }

// ReadSlot runs an internal command that reads, on the shard of a hash slot, and returns the reply.
func (r *Request) ReadSlot(slot int, args ...[]byte) []byte {
	call := r.c.internal(args...)
	call.SetSlot(slot)
	return r.c.one(call)
}

// ReadEverywhere runs an internal command that reads on every shard, and returns the one reply of all.
func (r *Request) ReadEverywhere(args [][]byte) []byte {
	spec, _ := command.Lookup(args)
	return r.c.everywhere(spec, args)
}
