// Package acl is the rules of one user. It parses them, writes them as text, and decides by them
// whether the user may run a command.
//
// A User is the result of ACL SETUSER: on or off, passwords, and selectors. A Selector allows
// commands on keys and channels. A command is allowed if one selector allows all of it. The
// commands are a bitset over the rows of the command table, so a new command is in its categories
// without any change here.
//
// Rules are also kept as text, in the order in which they were given, without those that a later
// rule has overridden. ACL LIST shows that text, and it is what is replicated. This program
// computes the bitset from the text, so a newer program with more commands in a category computes
// another bitset from the same text.
//
// The package is below proto because scripts are checked where they run, which is on every replica:
// see docs/decisions/0006-rules-travel-with-scripts.md. It has no clock and no log, and knows only
// the user at hand.
package acl
