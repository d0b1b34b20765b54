// Package differential sends one random stream of commands to redis-server and to Lockstep, and
// wants the same bytes back.
//
// The stream is a function of a seed, which each run draws anew and prints. It has each command
// several times; LOCKSTEP_SEED repeats a run, LOCKSTEP_OPS sets its length, and LOCKSTEP_LONG=1
// makes it a million commands against a single node and another million through a follower of three
// (`make differential`); a long run is many streams, one after another. The stream is made of forms
// (forms.go), a small grammar of every command with every option, over few keys, so that commands
// meet each other's results; some arguments are spoiled on purpose. Four connections take turns,
// two of them in RESP3, in pipelines of random length, with transactions and watches between them.
//
// If the answers differ, the stream is shortened to the commands that are needed to show the
// difference, and these are printed in redis-cli's notation.
//
// exceptions.go lists everything that may differ, each with its reason. Times to live are so far
// ahead that no clock matters.
package differential
