// Package damage damages the files of nodes, of those that are stopped and of those that
// run: a node ends with a reason and exit code 1, never with a panic or a memory fault,
// and the others do without it.
package damage
