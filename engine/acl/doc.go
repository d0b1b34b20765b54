// Package acl is the rules of one user: reading them, writing them down, and
// judging a command by them.
//
// A User is what ACL SETUSER has made: on or off, passwords, and selectors. A
// Selector allows commands on keys and channels; a command is allowed if one
// selector allows all of it. The commands are a bitset over the rows of the one
// command table, so a new command is in its categories without a word here.
//
// Rules are kept as text beside the bitset, in the order they were given, and
// without those that a later one has made void: that is what ACL LIST shows and
// what is replicated. The bitset is what this program makes of the text, so a newer
// program with more commands in a category makes another bitset of the same text.
//
// The package is below proto because scripts are judged where they run, which is
// on every replica: see docs/decisions/0006-rules-travel-with-scripts.md. It
// knows no clock, no users but the one at hand, and no log.
package acl
