package client

import (
	"fmt"

	"lockstep/engine/command"
)

// Handler answers a command that needs no data, in another package.
type Handler func(r *Request, args [][]byte)

// Handlers are some commands' handlers, each by the name of its row.
type Handlers map[string]Handler

// handler answers a command that needs no data.
type handler func(*Client, [][]byte)

// group is the handlers of this package for some commands, each by the name of its row.
type group map[string]handler

// Table has the handler of each row of the command table that needs no data, at the row's number.
type Table []handler

// NewTable gives each row of ScopeNode its handler: one of this package or one of those given. It panics if a row has
// none or two, or a handler no row: that is a mistake in the program, and shows when it starts.
func NewTable(others ...Handlers) Table {
	t := ownTable()
	for _, h := range others {
		for name, run := range h {
			t.set(name, func(c *Client, args [][]byte) { run(&c.request, args) })
		}
	}
	for _, spec := range command.All() {
		t.check(spec)
		for _, sub := range spec.Sub {
			t.check(sub)
		}
	}
	return t
}

// ownTable has the handlers of this package alone.
func ownTable() Table {
	t := make(Table, command.Rows())
	for _, g := range []group{
		connectionHandlers, transactionHandlers, pubSubHandlers, trackingHandlers, pauseHandlers, freshnessHandlers,
	} {
		for name, run := range g {
			t.set(name, run)
		}
	}
	return t
}

func (t Table) set(name string, run handler) {
	spec := command.Get(name)
	switch {
	case spec == nil || spec.Scope != command.ScopeNode:
		panic(fmt.Sprintf("client: there is no row for the handler of %s", name))
	case t[spec.Number()] != nil:
		panic(fmt.Sprintf("client: %s has two handlers", name))
	}
	t[spec.Number()] = run
}

// check panics if the row needs a handler and has none. EXEC needs none: it runs what was queued. A container needs one
// only if it can be sent by itself.
func (t Table) check(spec *command.Spec) {
	alone := len(spec.Sub) == 0 || spec.CheckArity(1)
	if spec.Scope == command.ScopeNode && alone && !spec.Has(command.RunsQueue) && t[spec.Number()] == nil {
		panic(fmt.Sprintf("client: %s has no handler", spec.Name))
	}
}
