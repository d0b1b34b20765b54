package cluster

import "errors"

// What became of a call that has no reply. The groups say what a caller may
// conclude; package proto/resp turns them into RESP text.

// Certainly not executed: the same call may be made again.
var (
	// ErrNotLeader: this node does not lead the shard.
	ErrNotLeader = errors.New("not the leader of this shard")
	// ErrNoLeader: no leader became known before the call's deadline.
	ErrNoLeader = errors.New("no leader for this shard")
	// ErrOverloaded: too much is waiting already; refused before it was proposed.
	ErrOverloaded = errors.New("too many commands are waiting")
	// ErrOverworked: what is in the log takes so long that the command's time was over before it
	// was proposed, or at its turn too much work was before it.
	ErrOverworked = errors.New("the commands before this one take too long")
	// ErrTakenBack: the command's client went away before it was proposed.
	ErrTakenBack = errors.New("the client has gone")
	// ErrKilled: SCRIPT KILL took the command back before it was proposed.
	ErrKilled = errors.New("taken back by SCRIPT KILL")
	// ErrBusy: a read waited in vain for others that hold its keys; see BusyError.
	ErrBusy = errors.New("others hold the keys")
	// ErrNoAnswer: the shard's leader is known, and did not answer before the deadline.
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

// Certainly not executed, and no client hears of it: the gateway's router sends
// such calls in another way.
var (
	// ErrTooMuchAtOnce: maxmemory, or what is to be in the log at a time, leaves no room for
	// all of these calls together, and may for each by itself.
	ErrTooMuchAtOnce = errors.New("the calls need too much at once")
	// ErrMustLog: what was taken for a read writes, and must enter the log.
	ErrMustLog = errors.New("the call writes")
)

// ErrClientGone is the cause with which the context of a call ends when its client has gone:
// nobody waits for an answer any more.
var ErrClientGone = errors.New("the connection has ended")

// ErrUnknown: the txn may have entered the log, and may still execute.
var ErrUnknown = errors.New("outcome unknown")

// ErrReplyLost: the txn was executed once; its reply was too long to be kept
// for the second question.
var ErrReplyLost = errors.New("executed, but the reply is lost")
