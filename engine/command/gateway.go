package command

// Gateway is a set of properties of a command that matter only at the gateway, the node that the
// client is connected to. Most of them mark a command on the connection, whose handler is in
// proto/client or proto/admin.
type Gateway uint32

const (
	// Light: the command does not depend on the effects of earlier commands on data, and does not
	// change what other clients see. It runs at once, even while earlier commands are still
	// running.
	Light Gateway = 1 << iota
	// InLoop: the command never waits, so the goroutine that serves many clients may run it.
	InLoop
	// CallsOut: the command waits for another server, or for its own client to read. Earlier
	// commands are answered first, and it cannot be part of a transaction.
	CallsOut
	// AtOnce: the command runs at once between MULTI and EXEC, where other commands are queued.
	AtOnce
	// WhileSubscribed: a client of RESP2 that has subscriptions may send the command.
	WhileSubscribed
	// Confirms: the replies confirm subscriptions. CLIENT REPLY does not mute them.
	Confirms
	// Publishes: the command sends a message to a channel.
	Publishes
	// Debugs: the command runs only if enable-debug-command allows it.
	Debugs
	// DespitePause: CLIENT PAUSE does not hold the command back.
	DespitePause
	// DespiteDoubt: the command runs even if the node does not know whether its list of users is
	// still valid.
	DespiteDoubt
	// RunsQueue: the command runs the transaction that its client has queued (EXEC).
	RunsQueue
	// SelectsDB: the command chooses the database of later commands (SELECT).
	SelectsDB
	// LogsIn: the command makes its client another user (AUTH). Greets: it may do so with an option
	// (HELLO).
	LogsIn
	Greets
	// Tracks: the command turns tracking on or off (CLIENT TRACKING). ChoosesCaching: it says
	// whether the keys of the next command may be cached (CLIENT CACHING). KeepsCaching: none of
	// the container's subcommands counts as that next command.
	Tracks
	ChoosesCaching
	KeepsCaching
)

// Has reports whether the command has one of these properties.
func (s *Spec) Has(g Gateway) bool { return s.Gateway&g != 0 }
