package command

// Witness is told what a script does that is no part of the state, on the one
// replica that runs it for a client: when other replicas run it, or this one again
// after a restart, nobody is. It must not block; arguments must not be kept.
type Witness interface {
	// Publish hands on a message, which may be kept; sharded: to a shard channel.
	Publish(sharded bool, channel string, payload []byte)
	// Log takes what redis.log says; level is 0 (debug) to 3 (warning).
	Log(level int, text string)
	// Began is asked when a command of the script begins: what it returns is given
	// to Ended.
	Began() (mark int64)
	// Ended says that a command has run for a caller, and in which database the script
	// is now. failure is its error reply, nil if it has not failed.
	Ended(by Caller, mark int64, spec *Spec, args [][]byte, db int, failure []byte)
	// Refused says that a command, nil if there is no such, did not run, and with which
	// error reply. If that is for the user's sake, d says why.
	Refused(by Caller, user User, spec *Spec, args [][]byte, d Denial, failure []byte)
	// Raised says that a program was answered with an error of its own: not with that of
	// a command, which Ended or Refused had told.
	Raised(failure []byte)
}

// Caller is the client for which a script runs. It is no part of the state. The zero
// value is one that nobody need be told of.
type Caller struct {
	// Node is the incarnation of the gateway, Client the number of its client.
	Node, Client uint64
	// Watched: somebody monitors on that gateway.
	Watched bool
}
