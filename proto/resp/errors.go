package resp

import (
	"errors"

	"lockstep/cluster"
	"lockstep/engine/command"
)

const errNoLeader = "CLUSTERDOWN no leader for this slot; the command was not executed"

// errorTexts maps the errors of package cluster to RESP. The first word tells a client
// what it may conclude. Client libraries repeat a command by themselves after CLUSTERDOWN,
// so it is used only for commands that did not run. No library knows INDETERMINATE or
// OVERLOADED, so none repeats after those; nor does any repeat after Redis's BUSY.
var errorTexts = []struct {
	err  error
	text string
	// notExecuted is true if the command certainly did not run.
	notExecuted bool
}{
	{cluster.ErrCrossSlot, "CROSSSLOT Keys in request don't hash to the same slot", true},
	{cluster.ErrReplyLost, "INDETERMINATE the command was executed, but its reply is lost", false},
	{cluster.ErrUnknown, "INDETERMINATE the command may or may not have been executed", false},
	{cluster.ErrOverloaded, "OVERLOADED too many commands are waiting; this one was not executed", true},
	{cluster.ErrOverworked, "OVERLOADED the commands before this one take too long; it was not executed", true},
	{cluster.ErrTakenBack, "OVERLOADED the client went away while the command waited; it was not executed", true},
	{cluster.ErrKilled, "ERR Script killed by user with SCRIPT KILL... before it began; it was not executed", true},
	{cluster.ErrBusy, "BUSY others hold the keys; the command was not executed", true},
	{cluster.ErrOutOfMemory, command.ErrOOM, true},
	{cluster.ErrTooLarge, "ERR the command is larger than a log entry may be; it was not executed", true},
	{cluster.ErrNotKnown, "ERR the shard's leader does not know this command; it was not executed", true},
	{cluster.ErrShuttingDown, "CLUSTERDOWN the node is shutting down; the command was not executed", true},
	{cluster.ErrNoShard, "CLUSTERDOWN this node has no replica of the shard; the command was not executed", true},
	{cluster.ErrNoAnswer, "CLUSTERDOWN the leader of this slot did not answer in time; the command was not executed", true},
	{cluster.ErrNotLeader, errNoLeader, true},
	{cluster.ErrNoLeader, errNoLeader, true},
}

// ErrorText is the reply for an error. An error that is not in the table is INDETERMINATE. If it is
// known what the command was waiting for, the text ends with that.
func ErrorText(err error) string {
	for _, e := range errorTexts {
		if !errors.Is(err, e.err) {
			continue
		}
		var busy *cluster.BusyError
		if errors.As(err, &busy) {
			return e.text + ": " + busy.Error()
		}
		return e.text
	}
	return "INDETERMINATE " + err.Error()
}

// NotExecuted reports whether the error says for certain that the command did not
// run.
func NotExecuted(err error) bool {
	for _, e := range errorTexts {
		if errors.Is(err, e.err) {
			return e.notExecuted
		}
	}
	return false
}
