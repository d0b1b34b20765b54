package command

// Witness is notified of effects of a script that are not part of the state, on the one replica
// that runs the script for a client. Other replicas that run it, and this one after a restart,
// notify nobody. A Witness must not block, and must not keep arguments.
type Witness interface {
	// Publish sends a message, which may be kept. sharded is set for a shard channel.
	Publish(sharded bool, channel string, payload []byte)
	// Log logs a message of redis.log. level is 0 (debug) to 3 (warning).
	Log(level int, text string)
	// Began is called when a command of the script begins. Its result is passed to Ended.
	Began() (mark int64)
	// Ended reports that a command has run for a caller, and which database the script now uses.
	// failure is the error reply, or nil if the command has not failed.
	Ended(by Caller, mark int64, spec *Spec, args [][]byte, db int, failure []byte)
	// Refused reports that a command did not run, and its error reply. spec is nil if there is no
	// such command. If the user may not run the command, d says why.
	Refused(by Caller, user User, spec *Spec, args [][]byte, d Denial, failure []byte)
	// Raised reports that a program was answered with an error of its own. The error is not that of
	// a command, which Ended or Refused has reported.
	Raised(failure []byte)
}

// Caller is the client for which a script runs. It is not part of the state. The zero value is a
// caller that nobody watches.
type Caller struct {
	// Node is the incarnation of the gateway, Client the number of its client.
	Node, Client uint64
	// Watched is set if a client monitors on that gateway.
	Watched bool
}
