// Package script runs Lua scripts as Redis 7 runs them, within bounds that are
// the same on every replica.
//
// A script that writes stands in the log and runs on every replica, again after
// a restart: what it does may depend on nothing but its text, its arguments,
// the answers of its commands and the seed. And it must end: an endless loop or
// a string of gigabytes would take down one replica after the other.
//
// The interpreter is gopher-lua as it is published. It has no bounds of its
// own, so they are put around it:
//
//   - Instructions. The interpreter asks its context before each instruction
//     whether to go on; the context (thread) charges the price of the instruction
//     and, when the budget is spent, says no for good. pcall and coroutines cannot
//     get past that.
//   - What one instruction can do without end. Before a script is compiled its
//     syntax tree is rewritten (rewrite.go): concatenation, table constructors,
//     assignments to fields, reads with computed keys, comparisons, lengths, and
//     the making of closures become calls of functions (intrinsics.go) which
//     charge for what they do. Strings in sums go through metamethods
//     (arithmetic.go). A script cannot name these functions: they stand
//     in the compiled constants.
//   - The library. All functions a script can call are our own, apart from the
//     switching of coroutines: they charge bytes for what they make and work for
//     what they do.
//
// The unit of all prices is about a nanosecond of one core (prices.go); commands
// that a script calls cost in the same unit. By the same count a run leaves the
// processor to others for a moment, which changes nothing, and asks whether it is to
// be stopped. Runs that enter the log never ask (meter.pause).
//
// Bytes are counted as allocated, not as live, for a garbage collector runs when
// it likes. Arrays have an invariant that makes their length cheap: the last
// element is never nil (tables.go).
//
// One run goes through Interpreters.Run: it takes an interpreter from a pool,
// gives it KEYS and ARGV and a Host, which runs commands, and writes the reply.
// Everything a script can reach apart from what it makes is read-only, as in
// Redis 7, so an interpreter can be used again; after an error it is thrown away.
//
// A library of functions (Library) runs once when it is loaded, within bounds of
// its own, and registers them; Interpreters.Call calls one. Redis keeps what a library
// holds in local variables from call to call; here each call finds the library as
// it was loaded (instance.go), for what is not in the state must not matter.
// Functions holds the libraries of a shard.
//
// What differs from Redis: tables are walked in the order their keys came in;
// tostring of a table or a function has no address; math.random begins each run
// with the run's seed, where Redis goes on from the run before; the settings of
// cjson cannot be changed; getmetatable returns nil for shared objects; NaN has no sign; goto is no name; syntax errors
// do not say what was expected; an error in a line of several calls or sums does
// not name the variable; a coroutine cannot yield out of a library function, as
// in Redis, nor out of a metamethod of an operator, which is not noticed; a name
// has at most 256 bytes, and a function some thousands of constants.
//
// Where the interpreter itself is not Lua's, the text is rewritten (rewrite_stmt.go)
// or a function gets a thread of its own (protected.go): closures after errors and
// break, what loops begin with. docs/decisions/0009-lua-is-lua.md says what and why.
package script
