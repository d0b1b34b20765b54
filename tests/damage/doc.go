// Package damage damages the files of stopped and of running nodes. A node must then end with a
// reason and exit code 1, never with a panic or a memory fault. The other nodes continue without
// it.
package damage
