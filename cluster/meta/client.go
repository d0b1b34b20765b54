package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"lockstep/cluster/meta/leaderrpc"
)

// Log is this node's replica of the meta group's log.
type Log interface {
	IsLeader() bool
	// Append proposes an entry and returns nil once it is committed. After an error the entry may
	// still be committed.
	Append(ctx context.Context, data []byte) error
}

// verbPropose is the leaderrpc verb for commands.
const verbPropose = "meta.propose"

// Client has commands carried out. It works on every node.
type Client struct {
	machine   *Machine
	log       Log
	leaderRPC *leaderrpc.Client
	// short reports whether the log has too few voters to accept settings and users from operators.
	// If it is nil, the log always accepts them.
	short func() bool
}

// errShort makes the leaderrpc.Client ask again.
var errShort = errors.New("too few of the nodes that are awaited vote yet")

// NewClient returns a client that sends commands to the leader by leaderrpc. If this node is the
// leader, the client also carries out the commands of others. It delays changes of settings and
// users as long as short reports that too few nodes vote: the log might lose them.
func NewClient(machine *Machine, log Log, c *leaderrpc.Client, short func() bool) *Client {
	client := &Client{machine: machine, log: log, leaderRPC: c, short: short}
	c.Handle(verbPropose, client.propose)
	return client
}

// View returns the state as it is now on this node.
func (c *Client) View() *View { return c.machine.View() }

// Do has a command carried out. It returns a *Refusal if the command was refused, and an error that
// is leaderrpc.ErrUnanswered if no leader answered before ctx ended. Otherwise it returns the result,
// once this node's view shows the command; if ctx ends first, the view may still be older.
func (c *Client) Do(ctx context.Context, command Command) (Result, error) {
	f, err := newFrame(command)
	if err != nil {
		return Result{}, err
	}
	body, err := c.leaderRPC.Do(ctx, GroupID, verbPropose, f)
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

// CatchUp waits until this node's view shows every command that was done before the call, and
// returns that view.
func (c *Client) CatchUp(ctx context.Context) (*View, error) {
	// A command that changes nothing still gets an index in the log.
	r, err := c.Do(ctx, &SetSettings{})
	if err != nil {
		return nil, err
	}
	return c.machine.Wait(ctx, func(v *View) bool { return v.Index >= r.Index })
}

// CheckVersion refuses a command that needs a newer cluster version. The proposer must check this
// itself: a leader with an older program does not know which commands need which version.
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

// propose carries out a command on the leader, for Do.
func (c *Client) propose(ctx context.Context, _ uint32, body []byte) ([]byte, error) {
	if !c.log.IsLeader() {
		return nil, leaderrpc.ErrNotLeader
	}
	var f frame
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, ErrInvalid.With("unreadable command")
	}
	command, err := f.command()
	if err != nil {
		// In the log, this command would stop every node that does not understand it either.
		return nil, ErrInvalid.With(fmt.Sprintf("the leader does not understand the command: %v", err))
	}
	// A new leader may still see an old view.
	if err := c.CheckVersion(ctx, command); err != nil {
		return nil, err
	}
	if c.short != nil && ordered(command) && c.short() {
		return nil, errShort
	}
	order, ok := leaderrpc.OrderOf(ctx)
	if !ok {
		return nil, ErrInvalid.With("a command without an identity")
	}
	f.ID, f.Seen = idOf(order.ID, f.Kind, f.Args), order.Seen
	if asksOnly(command) {
		// Each of these commands needs an index of its own: that of an earlier command would be too
		// low.
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

// ordered reports whether a command is an order of an operator or a client, who gets an
// acknowledgement for it.
func ordered(command Command) bool {
	switch c := command.(type) {
	case *SetSettings:
		return len(c.Set)+len(c.Unset) > 0
	case *ChangeUsers:
		return !c.First
	}
	return false
}
