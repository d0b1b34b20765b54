package cluster

import "errors"

// These errors end a call that has no reply. Each group says what the caller may conclude; package
// proto/resp turns the errors into RESP text.

// These errors mean: certainly not executed. The same call may be made again.
var (
	// ErrNotLeader: this node does not lead the shard.
	ErrNotLeader = errors.New("not the leader of this shard")
	// ErrNoLeader: no leader became known before the call's deadline.
	ErrNoLeader = errors.New("no leader for this shard")
	// ErrOverloaded: too many commands are waiting already. The call was refused before it was
	// proposed.
	ErrOverloaded = errors.New("too many commands are waiting")
	// ErrOverworked: the entries in the log take so long that the command's time was over before it
	// was proposed, or that too much work was before it at its turn.
	ErrOverworked = errors.New("the commands before this one take too long")
	// ErrTakenBack: the command's client disconnected before the command was proposed.
	ErrTakenBack = errors.New("the client has gone")
	// ErrKilled: SCRIPT KILL withdrew the command before it was proposed.
	ErrKilled = errors.New("taken back by SCRIPT KILL")
	// ErrBusy: a read waited for others that hold its keys, and gave up; see BusyError.
	ErrBusy = errors.New("others hold the keys")
	// ErrNoAnswer: the shard's leader is known but did not answer before the deadline.
	ErrNoAnswer = errors.New("the leader of this shard did not answer")
	// ErrOutOfMemory: maxmemory is reached, and nothing can be evicted.
	ErrOutOfMemory = errors.New("memory is full")
	// ErrCrossSlot: the keys belong to several shards.
	ErrCrossSlot = errors.New("keys belong to several shards")
	// ErrTooLarge: the txn is larger than an entry may be.
	ErrTooLarge = errors.New("the command is larger than a log entry may be")
	// ErrShuttingDown: the node takes no new work.
	ErrShuttingDown = errors.New("the node is shutting down")
	// ErrNotKnown: the shard's leader cannot run the command.
	ErrNotKnown = errors.New("the shard's leader does not know this command")
	// ErrNoShard: the node holds no replica of the shard, or it is not open yet.
	ErrNoShard = errors.New("this node has no replica of the shard")
)

// These errors mean: certainly not executed. No client gets them: the gateway's router sends such
// calls in another way.
var (
	// ErrTooMuchAtOnce: maxmemory, or the bound of what may be in the log at a time, leaves no room
	// for all of these calls together, but may for each by itself.
	ErrTooMuchAtOnce = errors.New("the calls need too much at once")
	// ErrMustLog: a call that was taken for a read writes, and must enter the log.
	ErrMustLog = errors.New("the call writes")
)

// ErrClientGone is the cause with which the context of a call ends when its client has
// disconnected: no client waits for the answer.
var ErrClientGone = errors.New("the connection has ended")

// ErrUnknown: the txn may have entered the log, and may still execute.
var ErrUnknown = errors.New("outcome unknown")

// ErrReplyLost: the txn was executed once, but its reply was too long to be kept for a repeated
// call.
var ErrReplyLost = errors.New("executed, but the reply is lost")
