// Package script runs Lua scripts as Redis 7 runs them, within bounds that are the same on every
// replica.
//
// A script that writes is in the log. It runs on every replica, and again after a restart. So
// its effects may depend only on its text, its arguments, the replies of its commands and the seed.
// And it must end: an endless loop or a string of gigabytes would crash one replica after the
// other.
//
// The interpreter is gopher-lua as it is published. It has no bounds of its own, so this package
// adds them:
//
//   - Instructions. The interpreter asks its context before each instruction whether to go on. The
//     context (thread) charges the price of the instruction and, when the budget is spent, says no from
//     then on. pcall and coroutines cannot get past that.
//   - Single instructions that could run without end. Before a script is compiled its syntax tree is
//     rewritten (rewrite.go): concatenation, table constructors, assignments to fields, reads with
//     computed keys, comparisons, lengths, and the making of closures become calls of functions
//     (intrinsics.go), which charge for their work. Strings in arithmetic go through metamethods
//     (arithmetic.go). A script cannot name these functions, because they are constants of the
//     compiled code.
//   - The library. Every function that a script can call is our own, except the switching of
//     coroutines. The functions charge bytes for the values that they make, and work for what they do.
//
// The unit of all prices is about a nanosecond of one core (prices.go). Commands that a script
// calls cost in the same unit. After a fixed amount of work a run yields the processor for a
// moment, which changes nothing, and checks whether it must stop. Runs from the log never check
// (meter.pause).
//
// Bytes count when they are allocated, and not while they are in use, because the garbage collector
// runs at any time. Arrays have an invariant that makes their length cheap: the last element is
// never nil (tables.go).
//
// A run goes through Interpreters.Run. It takes an interpreter from a pool, gives it KEYS and ARGV
// and a Host, which runs commands, and writes the reply. Everything that a script can reach and has
// not made itself is read-only, as in Redis 7, so an interpreter can be used again. After an error
// the interpreter is discarded.
//
// A library of functions (Library) runs once when it is loaded, within bounds of its own, and
// registers its functions. Interpreters.Call calls one of them. Redis keeps the values of a
// library's local variables from call to call. Here each call finds the library as it was loaded
// (instance.go), because such values are not part of the replicated state. Functions holds the
// libraries of a shard.
//
// The differences to Redis are these. Tables are walked in the order in which their keys were
// added. tostring of a table or a function has no address. math.random begins each run with the
// run's seed, while Redis continues from the run before. The settings of cjson cannot be changed.
// getmetatable returns nil for shared objects. NaN has no sign. goto is not a name. Syntax errors
// do not say what was expected. An error in a line of several calls or sums does not name the
// variable. A coroutine cannot yield out of a library function, as in Redis, nor out of a
// metamethod of an operator; the second is not detected. A name has at most 256 bytes, and a
// function some thousands of constants.
//
// Where the interpreter itself differs from Lua, the text is rewritten (rewrite_stmt.go) or a
// function gets a thread of its own (protected.go). This concerns closures after errors and break,
// and the first values of loops. docs/decisions/0009-lua-is-lua.md has the details and the reasons.
package script
