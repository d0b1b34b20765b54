// Package damage damages the files of stopped and of running nodes. A node then ends with a
// reason and exit code 1, never with a panic or a memory fault, and the other nodes go on
// without it.
package damage
