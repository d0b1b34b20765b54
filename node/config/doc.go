// Package config holds every setting of a node in one table.
//
// A row of the table (a [Directive]) describes one setting: its name (redis.conf's
// where Redis has one), the form of its value, its default, whether it may change
// at run time and for whom, what Lockstep does with it, and its help text. The
// table drives everything else: the parser of the file, the flags, the
// environment, CONFIG GET and CONFIG SET, --help, and docs/configuration.md. To add
// a setting, add a row and the field of [Settings] that the row fills; a test
// checks that the two agree.
//
// # Where a value comes from
//
// flag > environment > file > default. The last of several lines in one source
// wins, except for directives that may be repeated (save): their words add up.
// After the start, CONFIG SET overrides all of them. For settings marked
// [Replicated], the cluster's log overrides the node's own sources, so that a node
// with another value in its file behaves like its peers.
//
// # Four ways to answer a directive of Redis
//
// People paste the redis.conf they have, and tools set what they always set.
// Lockstep therefore knows every directive of Redis 7. Each has one of these
// policies:
//
//   - [Honoured]: the directive does what its name says.
//   - [Ignored]: the value is kept and shown, and has no effect. Such directives
//     tune machinery that Lockstep does not have, and a warning is enough.
//   - [Fixed]: the directive states a fact about this server (appendonly yes). For
//     another value in a file the node warns and keeps the fact; CONFIG SET gets an
//     error.
//   - [Refused]: the node does not start, because the directive promises something
//     that Lockstep does not do (replicaof, rename-command).
//
// # Reading a setting
//
// [Config.Current] returns the settings of this instant as one immutable value
// behind an atomic pointer. A command reads it once, and sees all of a CONFIG SET
// or nothing of it. Callers must not change the value. Code that must act as soon
// as a setting changes watches it with [Config.OnChange].
//
// Settings are typed fields and not a map from names to values: a reader on a hot
// path pays one atomic load, and a misspelt setting does not compile.
package config
