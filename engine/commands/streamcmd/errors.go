package streamcmd

import (
	"math"

	"lockstep/engine/command"
)

// Error replies of commands on streams.
const (
	ErrStreamID          = "ERR Invalid stream ID specified as stream command argument"
	ErrStreamStart       = "ERR invalid start ID for the interval"
	ErrStreamEnd         = "ERR invalid end ID for the interval"
	ErrStreamIDSmall     = "ERR The ID specified in XADD is equal or smaller than the target stream top item"
	ErrStreamIDZero      = "ERR The ID specified in XADD must be greater than 0-0"
	ErrStreamExhausted   = "ERR The stream has exhausted the last possible ID, unable to add more items"
	ErrStreamTooLarge    = "ERR Elements are too large to be stored"
	ErrTrimTwice         = "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
	ErrTrimMaxLen        = "ERR The MAXLEN argument must be >= 0."
	ErrTrimLimit         = "ERR The LIMIT argument must be >= 0."
	ErrTrimLimitAlone    = "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
	ErrTrimLimitExact    = "ERR syntax error, LIMIT cannot be used without the special ~ option"
	ErrTrimMissing       = "ERR syntax error, XTRIM must be called with a trimming strategy"
	ErrSetIDAdded        = "ERR entries_added must be positive"
	ErrSetIDDeleted      = "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
	ErrSetIDBelowDeleted = "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
	ErrSetIDTop          = "ERR The ID specified in XSETID is smaller than the target stream top item"
	ErrSetIDLength       = "ERR The entries_added specified in XSETID is smaller than the target stream length"
	ErrReadGroupOption   = "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."
	ErrReadNoAckOption   = "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."
	ErrReadGroupMissing  = "ERR Missing GROUP option for XREADGROUP"
	ErrReadNewID         = "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
	ErrReadLastID        = "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set."
	ErrReadTimeout       = "ERR timeout is not an integer or out of range"
	ErrGroupNoKey        = "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically."
	ErrGroupBusy         = "BUSYGROUP Consumer Group name already exists"
	ErrGroupEntriesRead  = "ERR value for ENTRIESREAD must be positive or -1"
	ErrClaimMinIdle      = "ERR Invalid min-idle-time argument for XCLAIM"
	ErrClaimIdle         = "ERR Invalid IDLE option argument for XCLAIM"
	ErrClaimTime         = "ERR Invalid TIME option argument for XCLAIM"
	ErrClaimRetryCount   = "ERR Invalid RETRYCOUNT option argument for XCLAIM"
	ErrAutoClaimMinIdle  = "ERR Invalid min-idle-time argument for XAUTOCLAIM"
)

// clipC cuts a text at its first zero byte, as C does.
func clipC(b []byte) []byte { return command.Clip(b, math.MaxInt) }

// errNoGroup is the error of commands that need a key and a group in it.
func errNoGroup(key, group []byte) string {
	return "NOGROUP No such key '" + string(clipC(key)) + "' or consumer group '" + string(clipC(group)) + "'"
}

// errNoGroupOf is the error if the key exists and the group does not.
func errNoGroupOf(key, group []byte) string {
	return "NOGROUP No such consumer group '" + string(clipC(group)) + "' for key name '" + string(clipC(key)) + "'"
}

// errSubcommandSyntax is the error for wrong arguments of a subcommand.
func errSubcommandSyntax(args [][]byte, container string) string {
	return "ERR unknown subcommand or wrong number of arguments for '" + string(command.Clip(args[1], 128)) + "'. Try " + container + " HELP."
}

// errUnbalanced is the error for streams and IDs that do not pair up.
func errUnbalanced(spec, id string) string {
	return "ERR Unbalanced '" + spec + "' list of streams: for each stream key an ID or '" + id + "' must be specified."
}

func errScriptBlock(name []byte) string {
	return "ERR " + string(name) + " command is not allowed with BLOCK option from scripts"
}
