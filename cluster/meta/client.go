package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"lockstep/cluster/meta/courier"
)

// Log is this node's replica of the meta group's log.
type Log interface {
	IsLeader() bool
	// Append proposes an entry and returns nil once it is committed. After an
	// error it may be committed all the same.
	Append(ctx context.Context, data []byte) error
}

// verbPropose is the courier's verb for commands.
const verbPropose = "meta.propose"

// Client has commands carried out, from any node.
type Client struct {
	machine *Machine
	log     Log
	courier *courier.Courier
	// short reports whether the log takes no orders of users on yet; nil: it does.
	short func() bool
}

// errShort has users' orders asked again.
var errShort = errors.New("too few of the nodes that are awaited vote yet")

// NewClient returns a client that carries commands to the leader by courier,
// and carries them out when it is the leader: what users order (settings, users) not
// as long as the log is too short of voters to keep it.
func NewClient(machine *Machine, log Log, c *courier.Courier, short func() bool) *Client {
	client := &Client{machine: machine, log: log, courier: c, short: short}
	c.Handle(verbPropose, client.propose)
	return client
}

// View returns the state as it is now on this node.
func (c *Client) View() *View { return c.machine.View() }

// Do has a command carried out. It returns a *Refusal if the command was
// refused, an error that is courier.ErrUnanswered if nobody could say before
// ctx ended, and else what became of it; then this node's view shows it,
// unless ctx ended first.
func (c *Client) Do(ctx context.Context, command Command) (Result, error) {
	f, err := newFrame(command)
	if err != nil {
		return Result{}, err
	}
	body, err := c.courier.Do(ctx, GroupID, verbPropose, f)
	if err != nil {
		return Result{}, err
	}
	var r Result
	if err := json.Unmarshal(body, &r); err != nil {
		return Result{}, fmt.Errorf("meta: unreadable result: %w", err)
	}
	// The command is done whether or not this node has caught up with it.
	_, _ = c.machine.Wait(ctx, func(v *View) bool { return v.Index >= r.Index })
	return r, nil
}

// CatchUp returns when this node's view shows everything that was done before
// the call, and that view.
func (c *Client) CatchUp(ctx context.Context) (*View, error) {
	// A command that changes nothing has its place in the log all the same.
	r, err := c.Do(ctx, &SetSettings{})
	if err != nil {
		return nil, err
	}
	return c.machine.Wait(ctx, func(v *View) bool { return v.Index >= r.Index })
}

// CheckVersion refuses a command that needs a newer cluster version: a leader whose
// program is older does not know that it does.
func (c *Client) CheckVersion(ctx context.Context, command Command) error {
	if checkNeeds(c.machine.View(), command) == nil {
		return nil
	}
	v, err := c.CatchUp(ctx)
	if err != nil {
		return err
	}
	return checkNeeds(v, command)
}

// propose is Do on the leader.
func (c *Client) propose(ctx context.Context, _ uint32, body []byte) ([]byte, error) {
	if !c.log.IsLeader() {
		return nil, courier.ErrNotLeader
	}
	var f frame
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, ErrInvalid.With("unreadable command")
	}
	command, err := f.command()
	if err != nil {
		// Not to be put into a log that would stop every node like this one.
		return nil, ErrInvalid.With(fmt.Sprintf("the leader does not understand the command: %v", err))
	}
	// A new leader may still see an old view.
	if err := c.CheckVersion(ctx, command); err != nil {
		return nil, err
	}
	if c.short != nil && ordered(command) && c.short() {
		return nil, errShort
	}
	order, ok := courier.OrderOf(ctx)
	if !ok {
		return nil, ErrInvalid.With("a command without an identity")
	}
	f.ID, f.Seen = idOf(order.ID, f.Kind, f.Args), order.Seen
	if asksOnly(command) {
		// Each one asks for a place of its own: an earlier one's would be too early.
		f.ID, f.Seen = max(rand.Uint64(), 1), 0
	}
	data, err := f.encode()
	if err != nil {
		return nil, err
	}
	done, forget, err := c.machine.expect(f.ID)
	if err != nil {
		return nil, err
	}
	defer forget()
	if err := c.log.Append(ctx, data); err != nil {
		return nil, err
	}
	select {
	case r := <-done:
		if r.Err != nil {
			return nil, r.Err
		}
		return json.Marshal(r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ordered reports whether a command changes what users have a say in: they are told that
// it is done.
func ordered(command Command) bool {
	switch c := command.(type) {
	case *SetSettings:
		return len(c.Set)+len(c.Unset) > 0
	case *ChangeUsers:
		return !c.First
	}
	return false
}
