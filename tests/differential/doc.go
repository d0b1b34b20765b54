// Package differential sends one random stream of commands to redis-server and
// to Lockstep, and wants the same bytes back.
//
// The stream is a function of a seed, which each run draws anew and prints. It has each command several times;
// LOCKSTEP_SEED repeats a run, LOCKSTEP_OPS sets its length, and LOCKSTEP_LONG=1 makes it a million
// against a single node and another through a follower of three (`make
// differential`); a long run is many streams, one after another. It is made of forms (forms.go), a small
// grammar of every command with every option, over few keys, so that commands
// meet each other's results; some arguments are spoiled on purpose. Four
// connections take turns, two of them in RESP3, in pipelines of random length,
// with transactions and watches between them.
//
// Where the answers differ, the stream is cut down to the commands that are
// needed to show it, and these are printed in redis-cli's notation.
//
// What may differ stands in exceptions.go, each with its reason; nothing else
// may. Times to live lie so far ahead that no clock plays a part.
package differential
