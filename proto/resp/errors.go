package resp

import (
	"errors"

	"lockstep/cluster"
)

// errorTexts maps the errors of the cluster floor to RESP. The first word tells
// a client what it may conclude; notes in docs/clients.md say which words client
// libraries retry by themselves. INDETERMINATE is one that none retries.
var errorTexts = []struct {
	err  error
	text string
}{
	{cluster.ErrCrossSlot, "CROSSSLOT Keys in request don't hash to the same slot"},
	{cluster.ErrReplyLost, "INDETERMINATE the command was executed, but its reply is lost"},
	{cluster.ErrUnknown, "INDETERMINATE the command may or may not have been executed"},
	{cluster.ErrOverloaded, "OVERLOADED too many commands are waiting; this one was not executed"},
	{cluster.ErrTooLarge, "ERR the command is larger than a log entry may be; it was not executed"},
	{cluster.ErrShuttingDown, "CLUSTERDOWN the node is shutting down; the command was not executed"},
	{cluster.ErrNoShard, "CLUSTERDOWN this node has no replica of the shard; the command was not executed"},
	{cluster.ErrNotLeader, "CLUSTERDOWN no leader for this slot; the command was not executed"},
	{cluster.ErrNoLeader, "CLUSTERDOWN no leader for this slot; the command was not executed"},
}

// ErrorText is the reply for an error.
func ErrorText(err error) string {
	for _, e := range errorTexts {
		if errors.Is(err, e.err) {
			return e.text
		}
	}
	return "ERR " + err.Error()
}
