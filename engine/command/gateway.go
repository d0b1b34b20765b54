package command

// Gateway is a set of properties of a command that matter only at the gateway, the node that the client is connected
// to. Most of them single out a command on the connection, whose handler stands in proto/client or proto/admin.
type Gateway uint32

const (
	// Light: the command neither looks at what the commands before it do to data nor changes what other clients see.
	// It runs at once, even while commands before it are under way.
	Light Gateway = 1 << iota
	// InLoop: the command waits for nothing, so the goroutine that serves many clients may run it.
	InLoop
	// CallsOut: the command waits for another server, or for its own client to read. What came before it is answered
	// first, and it cannot be part of a transaction.
	CallsOut
	// AtOnce: the command runs at once between MULTI and EXEC, where others are queued.
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
	// DespiteDoubt: the command runs even if the node does not know whether its users still hold.
	DespiteDoubt
	// RunsQueue: the command runs the transaction that its client has queued (EXEC).
	RunsQueue
	// SelectsDB: the command chooses the database of the commands behind it (SELECT).
	SelectsDB
	// LogsIn: the command makes its client another user (AUTH). Greets: it may do so among its options (HELLO).
	LogsIn
	Greets
	// Tracks: the command turns tracking on or off (CLIENT TRACKING). ChoosesCaching: it says of the next command whether
	// its keys may be cached (CLIENT CACHING). KeepsCaching: none of the container's subcommands is that next command.
	Tracks
	ChoosesCaching
	KeepsCaching
)

// Has tells whether the command has one of these properties.
func (s *Spec) Has(g Gateway) bool { return s.Gateway&g != 0 }
