// Package config holds every setting of a node in one table.
//
// A row of the table (a [Directive]) says all there is to say about one
// setting: its name, which is redis.conf's where Redis has one, the form of its
// value, its default, whether it may change at run time and for whom, what
// Lockstep does with it, and a line for the reader. Everything else is read off
// the table: the parser of the file, the flags, the environment, CONFIG GET and
// CONFIG SET, --help, and docs/configuration.md. To add a setting is to add a
// row and the field of [Settings] that it fills; a test holds the two together.
//
// # Where a value comes from
//
// flag > environment > file > default; the nearest to the person who types
// wins. Of several lines in one source the last wins, except for directives
// that Redis lets one repeat (save), whose words add up. After the start,
// CONFIG SET overrides all of them, and what the cluster's log says overrides a
// node's own sources for settings marked [Replicated]: a node that came up with
// another value in its file must not behave otherwise than its peers.
//
// # Three ways to answer a directive of Redis
//
// People paste the redis.conf they have, and tools set what they always set.
// So every directive of Redis 7 is known here, and has one of these policies:
//
//   - [Honoured]: it does what its name says.
//   - [Ignored]: kept and shown, and of no effect here. Such directives tune
//     machinery that Lockstep does not have; saying so in a warning is enough.
//   - [Fixed]: it states a fact about this server (appendonly yes). Another
//     value in a file is answered with a warning and the fact stands; CONFIG
//     SET is answered with an error.
//   - [Refused]: to go on would promise what is not kept (replicaof,
//     rename-command), so the node does not start.
//
// # Reading a setting
//
// [Config.Current] gives the settings of this instant as one immutable value
// behind an atomic pointer: a command reads it once and sees either all of a
// CONFIG SET or nothing of it. Nobody may change what it points to. Values that
// must be acted on when they change, and not when they are next read, are
// watched with [Config.OnChange].
//
// Typed fields instead of a map from names to values: a reader on a hot path
// pays a load and nothing more, and a misspelt setting does not compile.
package config
