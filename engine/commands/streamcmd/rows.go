// Package streamcmd is the commands on streams and their groups: XADD, XREAD, XREADGROUP, XCLAIM
// and their like.
//
// Rows and InternalRows have a row for each command, Codecs says how a stream is stored in
// snapshots and dumps. The stream itself is package stream.
//
// IDs that a command leaves to the server, and the times of deliveries, come from the log time of
// the entry, never from a clock. So they are the same on all replicas.
package streamcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/sched"
)

// argTrim is the argument of XADD and XTRIM that says which entries to remove.
var argTrim = arg.Block("trim",
	arg.OneOf("strategy", arg.Token("maxlen", "MAXLEN"), arg.Token("minid", "MINID").AddedIn("6.2.0")),
	arg.OneOf("operator", arg.Token("equal", "="), arg.Token("approximately", "~")).Opt(),
	arg.Of("threshold", "string"),
	arg.Of("count", "integer").After("LIMIT").AddedIn("6.2.0").Opt(),
)

// argStreams are the streams of XREAD and XREADGROUP.
var argStreams = arg.Block("streams", arg.Key("key", 1).Many(), arg.Of("id", "string").Many()).After("STREAMS")

// argReadBlock is how long XREAD and XREADGROUP wait.
var argReadBlock = arg.Of("milliseconds", "integer").After("BLOCK").Opt()

// streamsKey is the key spec of XREAD and XREADGROUP. Their keys follow a word, and COMMAND INFO
// gives the argument at which the search for the word starts.
func streamsKey(from int, mode sched.Mode) []command.KeySpec {
	return []command.KeySpec{{
		Flags: command.KeyRO | command.KeyAccess, Last: -1, Step: 1,
		Find:    readStreamsAt,
		ModeOf:  func([][]byte) sched.Mode { return mode },
		Keyword: &command.Keyword{Word: "STREAMS", From: from, Share: 2},
	}}
}

// Rows are the commands on streams.
var Rows = []*command.Spec{
	{
		Name: "xadd", Arity: -5, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runXAdd, Brings: command.BringsOne,
		Group: "stream", Since: "5.0.0",
		Summary: "Adds an entry at the end of a stream.", Complexity: "O(log N) with N the size of the stream, and O(M) with M the entries trimmed",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Token("nomkstream", "NOMKSTREAM").AddedIn("6.2.0").Opt(),
			argTrim.Opt(),
			arg.OneOf("id_or_auto", arg.Token("auto_id", "*"), arg.Of("id", "string")),
			arg.Block("field_value", arg.Of("field", "string"), arg.Of("value", "string")).Many(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "xlen", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRO), Run: runXLen,
		Group: "stream", Since: "5.0.0",
		Summary: "Counts the entries of a stream.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "xrange", Arity: -4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runXRange,
		Group: "stream", Since: "5.0.0",
		Summary: "Returns the entries from an ID to another.", Complexity: "O(log N + M) with N the size of the stream and M the entries returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("start", "string"), arg.Of("end", "string"), arg.Count},
	},
	{
		Name: "xrevrange", Arity: -4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runXRevRange,
		Group: "stream", Since: "5.0.0",
		Summary: "Returns the entries from an ID to another, the last one first.", Complexity: "O(log N + M) with N the size of the stream and M the entries returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("end", "string"), arg.Of("start", "string"), arg.Count},
	},
	{
		Name: "xdel", Arity: -3, Flags: command.Write | command.Fast, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runXDel,
		Group: "stream", Since: "5.0.0",
		Summary: "Deletes entries by their IDs and counts how many there were.", Complexity: "O(log N) for each, with N the size of the stream",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("id", "string").Many()},
	},
	{
		Name: "xtrim", Arity: -4, Flags: command.Write | command.Heavy, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runXTrim,
		Group: "stream", Since: "5.0.0",
		Summary: "Deletes entries from the front of a stream and counts them.", Complexity: "O(N) with N the entries deleted",
		Args: []arg.Arg{arg.Key("key", 1), argTrim},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "xread", Arity: -4, Flags: command.ReadOnly | command.Blocking | command.MovableKeys | command.Heavy, Cats: command.CatStream,
		Keys: streamsKey(1, sched.Shared), Run: runXRead,
		Waits: &command.Waiting{Kind: engine.KindStream, TimeoutMs: command.TimeoutOption, LatestIDs: latestIDs},
		Group: "stream", Since: "5.0.0",
		Summary: "Returns the entries behind an ID, of several streams, and may wait for some.", Complexity: "O(log N + M) for each stream, with N its size and M the entries returned",
		Args: []arg.Arg{arg.Count, argReadBlock, argStreams},
	},
	{
		Name: "xsetid", Arity: -3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runXSetID,
		Group: "stream", Since: "5.0.0",
		Summary: "Sets what a stream remembers beside its entries.", Complexity: "O(1)",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of("last-id", "string"),
			arg.Of("entries_added", "integer").After("ENTRIESADDED").AddedIn("7.0.0").Opt(),
			arg.Of("max_deleted_entry_id", "string").After("MAXDELETEDID").AddedIn("7.0.0").Opt(),
		},
	},
	xinfoCommand,
	xgroupCommand,
	{
		Name: "xreadgroup", Arity: -7, Flags: command.Write | command.Blocking | command.MovableKeys | command.Heavy, Cats: command.CatStream,
		Keys: streamsKey(4, sched.Exclusive), Run: runXReadGroup,
		Waits: &command.Waiting{Kind: engine.KindStream, TimeoutMs: command.TimeoutOption, Group: groupOption},
		Group: "stream", Since: "5.0.0",
		Summary: "Delivers new entries of several streams to a consumer of a group, or returns its pending ones.", Complexity: "O(log N + M) for each stream, with N its size and M the entries returned",
		Args: []arg.Arg{
			arg.Block("group_consumer", arg.Of("group", "string"), arg.Of("consumer", "string")).After("GROUP"),
			arg.Count,
			argReadBlock,
			arg.Token("noack", "NOACK").Opt(),
			argStreams,
		},
	},
	{
		Name: "xack", Arity: -4, Flags: command.Write | command.Fast, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runXAck,
		Group: "stream", Since: "5.0.0",
		Summary: "Takes entries out of the pending ones of a group and counts them.", Complexity: "O(log N) for each, with N the pending entries",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("group", "string"), arg.Of("id", "string").Many()},
	},
	{
		Name: "xpending", Arity: -3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runXPending,
		Group: "stream", Since: "5.0.0",
		Summary: "Returns the pending entries of a group, or how many there are.", Complexity: "O(log N + M) with N the pending entries and M those looked at; O(C) with C the consumers for their number",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of("group", "string"),
			arg.Block("filters",
				arg.Of("min-idle-time", "integer").After("IDLE").AddedIn("6.2.0").Opt(),
				arg.Of("start", "string"),
				arg.Of("end", "string"),
				arg.Of("count", "integer"),
				arg.Of("consumer", "string").Opt(),
			).Opt(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "xclaim", Arity: -6, Flags: command.Write | command.Fast, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runXClaim,
		Group: "stream", Since: "5.0.0",
		Summary: "Gives pending entries to another consumer.", Complexity: "O(log N) for each, with N the size of the stream",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of("group", "string"),
			arg.Of("consumer", "string"),
			arg.Of("min-idle-time", "string"),
			arg.Of("id", "string").Many(),
			arg.Of("ms", "integer").After("IDLE").Opt(),
			arg.Of("unix-time-milliseconds", "unix-time").After("TIME").Opt(),
			arg.Of("count", "integer").After("RETRYCOUNT").Opt(),
			arg.Token("force", "FORCE").Opt(),
			arg.Token("justid", "JUSTID").Opt(),
			arg.Of("id", "string").After("LASTID").Opt(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "xautoclaim", Arity: -6, Flags: command.Write | command.Fast | command.Heavy, Cats: command.CatStream,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runXAutoClaim,
		Group: "stream", Since: "6.2.0",
		Summary: "Gives pending entries that are idle for long to another consumer.", Complexity: "O(log N + M) with N the size of the stream and M the entries looked at, ten times COUNT at most",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of("group", "string"),
			arg.Of("consumer", "string"),
			arg.Of("min-idle-time", "string"),
			arg.Of("start", "string"),
			arg.Count,
			arg.Token("justid", "JUSTID").Opt(),
		},
		Tips: []string{"nondeterministic_output"},
	},
}

var xinfoCommand = &command.Spec{
	Name: "xinfo", Arity: -2,
	Group: "stream", Since: "5.0.0",
	Summary: "Looks at a stream.", Complexity: "Depends on the subcommand",
	Sub: []*command.Spec{
		{
			Name: "xinfo|consumers", Arity: 4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatStream,
			Keys: command.SecondKey(command.KeyRO | command.KeyAccess), Run: runXInfoConsumers,
			Group: "stream", Since: "5.0.0",
			Summary: "Lists the consumers of a group.", Complexity: "O(N) with N the consumers",
			Args: []arg.Arg{arg.Key("key", 1), arg.Of("groupname", "string")},
			Tips: []string{"nondeterministic_output"},
		},
		{
			Name: "xinfo|groups", Arity: 3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatStream,
			Keys: command.SecondKey(command.KeyRO | command.KeyAccess), Run: runXInfoGroups,
			Group: "stream", Since: "5.0.0",
			Summary: "Lists the groups of a stream.", Complexity: "O(N) with N the groups",
			Args: []arg.Arg{arg.Key("key", 1)},
		},
		{
			Name: "xinfo|stream", Arity: -3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatStream,
			Keys: command.SecondKey(command.KeyRO | command.KeyAccess), Run: runXInfoStream,
			Group: "stream", Since: "5.0.0",
			Summary: "Returns what a stream holds and remembers.", Complexity: "O(1), with FULL O(N) with N the entries, groups and consumers returned",
			Args: []arg.Arg{arg.Key("key", 1), arg.Block("full", arg.Count).After("FULL").Opt()},
		},
		{
			Name: "xinfo|help", Arity: 2, Flags: command.Loading | command.Stale, Cats: command.CatStream,
			Run:   runXInfoHelp,
			Group: "stream", Since: "5.0.0",
			Summary: "Describes the subcommands.", Complexity: "O(1)",
		},
	},
}

var xgroupCommand = &command.Spec{
	Name: "xgroup", Arity: -2,
	Group: "stream", Since: "5.0.0",
	Summary: "Makes and changes consumer groups.", Complexity: "Depends on the subcommand",
	Sub: []*command.Spec{
		{
			Name: "xgroup|create", Arity: -5, Flags: command.Write | command.DenyOOM, Cats: command.CatStream,
			Keys: command.SecondKey(command.KeyRW | command.KeyInsert), Run: runXGroupCreate,
			Group: "stream", Since: "5.0.0",
			Summary: "Makes a consumer group.", Complexity: "O(1)",
			Args: []arg.Arg{
				arg.Key("key", 1),
				arg.Of("groupname", "string"),
				arg.OneOf("id", arg.Of("id", "string"), arg.Token("new_id", "$")),
				arg.Token("mkstream", "MKSTREAM").Opt(),
				arg.Of("entries_read", "integer").After("ENTRIESREAD").Opt(),
			},
		},
		{
			Name: "xgroup|setid", Arity: -5, Flags: command.Write, Cats: command.CatStream,
			Keys: command.SecondKey(command.KeyRW | command.KeyUpdate), Run: runXGroupSetID,
			Group: "stream", Since: "5.0.0",
			Summary: "Sets the last ID that a group got.", Complexity: "O(1)",
			Args: []arg.Arg{
				arg.Key("key", 1),
				arg.Of("groupname", "string"),
				arg.OneOf("id", arg.Of("id", "string"), arg.Token("new_id", "$")),
				arg.Of("entries_read", "integer").After("ENTRIESREAD").Opt(),
			},
		},
		{
			Name: "xgroup|destroy", Arity: 4, Flags: command.Write | command.Heavy, Cats: command.CatStream,
			Keys: command.SecondKey(command.KeyRW | command.KeyDelete), Run: runXGroupDestroy,
			Group: "stream", Since: "5.0.0",
			Summary: "Deletes a consumer group.", Complexity: "O(N) with N the group's consumers",
			Args: []arg.Arg{arg.Key("key", 1), arg.Of("groupname", "string")},
		},
		{
			Name: "xgroup|createconsumer", Arity: 5, Flags: command.Write | command.DenyOOM, Cats: command.CatStream,
			Keys: command.SecondKey(command.KeyRW | command.KeyInsert), Run: runXGroupCreateConsumer,
			Group: "stream", Since: "6.2.0",
			Summary: "Makes a consumer.", Complexity: "O(1)",
			Args: []arg.Arg{arg.Key("key", 1), arg.Of("groupname", "string"), arg.Of("consumername", "string")},
		},
		{
			Name: "xgroup|delconsumer", Arity: 5, Flags: command.Write | command.Heavy, Cats: command.CatStream,
			Keys: command.SecondKey(command.KeyRW | command.KeyDelete), Run: runXGroupDelConsumer,
			Group: "stream", Since: "5.0.0",
			Summary: "Deletes a consumer with its pending entries and counts these.", Complexity: "O(N) with N the entries",
			Args: []arg.Arg{arg.Key("key", 1), arg.Of("groupname", "string"), arg.Of("consumername", "string")},
		},
		{
			Name: "xgroup|help", Arity: 2, Flags: command.Loading | command.Stale, Cats: command.CatStream,
			Run:   runXGroupHelp,
			Group: "stream", Since: "5.0.0",
			Summary: "Describes the subcommands.", Complexity: "O(1)",
		},
	},
}

// InternalRows are commands on streams that clients cannot send.
var InternalRows = []*command.Spec{
	{
		Name: "lockstep.stream-ends", Arity: -2, Flags: command.ReadOnly, Keys: command.AllKeys(command.KeyRO),
		Run: runStreamEnds, Group: "internal", Summary: "Answers the last IDs of streams, for XREAD with $.",
	},
}
