// Package commands is the table of all commands.
//
// The rows of a command are in the room of its kind, a package below this one: stringcmd, listcmd
// and so on. The list of families in this file is explicit, so that reading it is enough to know
// them all; no room registers itself. Dispatch, routing, locking, scripts, ACL, COMMAND and
// docs/commands.md read the table through this package.
//
// Package command defines rows, and the context that handlers run in. Rooms import that
// package and not one another, but for those that tests/lint names. A room that needs the table at
// run time gets it with the context (Ctx.Commands).
//
// The package also lists which commands of Redis are supported (support.go), and the data that a
// blocking command waits for (awaited.go).
package commands

import (
	"lockstep/engine/command"
	"lockstep/engine/commands/bitmapcmd"
	"lockstep/engine/commands/geocmd"
	"lockstep/engine/commands/hashcmd"
	"lockstep/engine/commands/hllcmd"
	"lockstep/engine/commands/keycmd"
	"lockstep/engine/commands/listcmd"
	"lockstep/engine/commands/nodecmd"
	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/commands/setcmd"
	"lockstep/engine/commands/sortcmd"
	"lockstep/engine/commands/streamcmd"
	"lockstep/engine/commands/stringcmd"
	"lockstep/engine/commands/zsetcmd"
)

var table = command.NewTable(families...)

// All returns the commands by name, without subcommands. The caller must not
// change the slice.
func All() []*command.Spec { return table.All() }

// Rows is how many rows there are, subcommands included.
func Rows() int { return table.Rows() }

// Get returns the command, or the subcommand "parent|sub", of a lower-case
// name.
func Get(name string) *command.Spec { return table.Get(name) }

// Lookup finds the command of a request, or the subcommand if the command is a container. spec is
// nil if there is no such command. If only the container exists and the subcommand does not, Lookup
// returns the container.
func Lookup(args [][]byte) (spec, container *command.Spec) { return table.Lookup(args) }

// Table returns the table that the functions of this package read.
func Table() *command.Table { return table }

// families is the whole table, in the order documentation lists it.
var families = [][]*command.Spec{
	stringcmd.Rows,
	listcmd.Rows,
	hashcmd.Rows,
	hashcmd.FieldExpiryRows,
	setcmd.Rows,
	zsetcmd.Rows,
	streamcmd.Rows,
	bitmapcmd.Rows,
	hllcmd.Rows,
	geocmd.Rows,
	sortcmd.Rows,
	keycmd.Rows,
	keycmd.KeyspaceRows,
	nodecmd.PubSubRows,
	scriptcmd.Rows,
	scriptcmd.FunctionRows,
	keycmd.InternalRows,
	scriptcmd.InternalRows,
	streamcmd.InternalRows,
	nodecmd.ConnectionRows,
	nodecmd.ServerRows,
	nodecmd.ACLRows,
	nodecmd.IntrospectionRows,
	nodecmd.ModuleRows,
	nodecmd.ClusterRows,
}
