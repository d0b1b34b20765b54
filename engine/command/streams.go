package command

import (
	"lockstep/engine"
	"lockstep/engine/sched"
)

// argTrim is how XADD and XTRIM say what goes.
var argTrim = argBlock("trim",
	argOneOf("strategy", argToken("maxlen", "MAXLEN"), argToken("minid", "MINID").since("6.2.0")),
	argOneOf("operator", argToken("equal", "="), argToken("approximately", "~")).optional(),
	arg("threshold", "string"),
	arg("count", "integer").token("LIMIT").since("6.2.0").optional(),
)

// argStreams are the streams of XREAD and XREADGROUP.
var argStreams = argBlock("streams", argKey("key", 1).multiple(), arg("id", "string").multiple()).token("STREAMS")

// argReadBlock is for how long they wait.
var argReadBlock = arg("milliseconds", "integer").token("BLOCK").optional()

// streamsKey is the key spec of XREAD and XREADGROUP, whose keys follow a word
// that COMMAND INFO says to look for from an argument on.
func streamsKey(from int, mode sched.Mode) []KeySpec {
	return []KeySpec{{
		Flags: KeyRO | KeyAccess, Last: -1, Step: 1,
		Find:    readStreamsAt,
		ModeOf:  func([][]byte) sched.Mode { return mode },
		Keyword: &Keyword{Word: "STREAMS", From: from, Share: 2},
	}}
}

// streamFamily are the commands on streams. Handlers stand in streams_*.go.
var streamFamily = []*Spec{
	{
		Name: "xadd", Arity: -5, Flags: Write | DenyOOM | Fast, Cats: CatStream,
		Keys: oneKey(KeyRW | KeyUpdate), Run: runXAdd, Brings: one,
		Group: "stream", Since: "5.0.0",
		Summary: "Adds an entry at the end of a stream.", Complexity: "O(log N) with N the size of the stream, and O(M) with M the entries trimmed",
		Args: []Arg{
			argKey("key", 1),
			argToken("nomkstream", "NOMKSTREAM").since("6.2.0").optional(),
			argTrim.optional(),
			argOneOf("id_or_auto", argToken("auto_id", "*"), arg("id", "string")),
			argBlock("field_value", arg("field", "string"), arg("value", "string")).multiple(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "xlen", Arity: 2, Flags: ReadOnly | Fast, Cats: CatStream,
		Keys: oneKey(KeyRO), Run: runXLen,
		Group: "stream", Since: "5.0.0",
		Summary: "Counts the entries of a stream.", Complexity: "O(1)",
		Args: []Arg{argKey("key", 1)},
	},
	{
		Name: "xrange", Arity: -4, Flags: ReadOnly | Heavy, Cats: CatStream,
		Keys: oneKey(KeyRO | KeyAccess), Run: runXRange,
		Group: "stream", Since: "5.0.0",
		Summary: "Returns the entries from an ID to another.", Complexity: "O(log N + M) with N the size of the stream and M the entries returned",
		Args: []Arg{argKey("key", 1), arg("start", "string"), arg("end", "string"), argCount},
	},
	{
		Name: "xrevrange", Arity: -4, Flags: ReadOnly | Heavy, Cats: CatStream,
		Keys: oneKey(KeyRO | KeyAccess), Run: runXRevRange,
		Group: "stream", Since: "5.0.0",
		Summary: "Returns the entries from an ID to another, the last one first.", Complexity: "O(log N + M) with N the size of the stream and M the entries returned",
		Args: []Arg{argKey("key", 1), arg("end", "string"), arg("start", "string"), argCount},
	},
	{
		Name: "xdel", Arity: -3, Flags: Write | Fast, Cats: CatStream,
		Keys: oneKey(KeyRW | KeyDelete), Run: runXDel,
		Group: "stream", Since: "5.0.0",
		Summary: "Deletes entries by their IDs and counts how many there were.", Complexity: "O(log N) for each, with N the size of the stream",
		Args: []Arg{argKey("key", 1), arg("id", "string").multiple()},
	},
	{
		Name: "xtrim", Arity: -4, Flags: Write | Heavy, Cats: CatStream,
		Keys: oneKey(KeyRW | KeyDelete), Run: runXTrim,
		Group: "stream", Since: "5.0.0",
		Summary: "Deletes entries from the front of a stream and counts them.", Complexity: "O(N) with N the entries deleted",
		Args: []Arg{argKey("key", 1), argTrim},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "xread", Arity: -4, Flags: ReadOnly | Blocking | MovableKeys | Heavy, Cats: CatStream,
		Keys: streamsKey(1, sched.Shared), Run: runXRead,
		Waits: &Waiting{Kind: engine.KindStream, TimeoutMs: timeoutOption, LatestIDs: latestIDs},
		Group: "stream", Since: "5.0.0",
		Summary: "Returns the entries behind an ID, of several streams, and may wait for some.", Complexity: "O(log N + M) for each stream, with N its size and M the entries returned",
		Args: []Arg{argCount, argReadBlock, argStreams},
	},
	{
		Name: "xsetid", Arity: -3, Flags: Write | DenyOOM | Fast, Cats: CatStream,
		Keys: oneKey(KeyRW | KeyUpdate), Run: runXSetID,
		Group: "stream", Since: "5.0.0",
		Summary: "Sets what a stream remembers beside its entries.", Complexity: "O(1)",
		Args: []Arg{
			argKey("key", 1),
			arg("last-id", "string"),
			arg("entries_added", "integer").token("ENTRIESADDED").since("7.0.0").optional(),
			arg("max_deleted_entry_id", "string").token("MAXDELETEDID").since("7.0.0").optional(),
		},
	},
	xinfoCommand,
	xgroupCommand,
	{
		Name: "xreadgroup", Arity: -7, Flags: Write | Blocking | MovableKeys | Heavy, Cats: CatStream,
		Keys: streamsKey(4, sched.Exclusive), Run: runXReadGroup,
		Waits: &Waiting{Kind: engine.KindStream, TimeoutMs: timeoutOption, Group: groupOption},
		Group: "stream", Since: "5.0.0",
		Summary: "Delivers new entries of several streams to a consumer of a group, or returns its pending ones.", Complexity: "O(log N + M) for each stream, with N its size and M the entries returned",
		Args: []Arg{
			argBlock("group_consumer", arg("group", "string"), arg("consumer", "string")).token("GROUP"),
			argCount,
			argReadBlock,
			argToken("noack", "NOACK").optional(),
			argStreams,
		},
	},
	{
		Name: "xack", Arity: -4, Flags: Write | Fast, Cats: CatStream,
		Keys: oneKey(KeyRW | KeyUpdate), Run: runXAck,
		Group: "stream", Since: "5.0.0",
		Summary: "Takes entries out of the pending ones of a group and counts them.", Complexity: "O(log N) for each, with N the pending entries",
		Args: []Arg{argKey("key", 1), arg("group", "string"), arg("id", "string").multiple()},
	},
	{
		Name: "xpending", Arity: -3, Flags: ReadOnly | Heavy, Cats: CatStream,
		Keys: oneKey(KeyRO | KeyAccess), Run: runXPending,
		Group: "stream", Since: "5.0.0",
		Summary: "Returns the pending entries of a group, or how many there are.", Complexity: "O(log N + M) with N the pending entries and M those looked at; O(C) with C the consumers for their number",
		Args: []Arg{
			argKey("key", 1),
			arg("group", "string"),
			argBlock("filters",
				arg("min-idle-time", "integer").token("IDLE").since("6.2.0").optional(),
				arg("start", "string"),
				arg("end", "string"),
				arg("count", "integer"),
				arg("consumer", "string").optional(),
			).optional(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "xclaim", Arity: -6, Flags: Write | Fast, Cats: CatStream,
		Keys: oneKey(KeyRW | KeyUpdate), Run: runXClaim,
		Group: "stream", Since: "5.0.0",
		Summary: "Gives pending entries to another consumer.", Complexity: "O(log N) for each, with N the size of the stream",
		Args: []Arg{
			argKey("key", 1),
			arg("group", "string"),
			arg("consumer", "string"),
			arg("min-idle-time", "string"),
			arg("id", "string").multiple(),
			arg("ms", "integer").token("IDLE").optional(),
			arg("unix-time-milliseconds", "unix-time").token("TIME").optional(),
			arg("count", "integer").token("RETRYCOUNT").optional(),
			argToken("force", "FORCE").optional(),
			argToken("justid", "JUSTID").optional(),
			arg("id", "string").token("LASTID").optional(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "xautoclaim", Arity: -6, Flags: Write | Fast | Heavy, Cats: CatStream,
		Keys: oneKey(KeyRW | KeyDelete), Run: runXAutoClaim,
		Group: "stream", Since: "6.2.0",
		Summary: "Gives pending entries that are idle for long to another consumer.", Complexity: "O(log N + M) with N the size of the stream and M the entries looked at, ten times COUNT at most",
		Args: []Arg{
			argKey("key", 1),
			arg("group", "string"),
			arg("consumer", "string"),
			arg("min-idle-time", "string"),
			arg("start", "string"),
			argCount,
			argToken("justid", "JUSTID").optional(),
		},
		Tips: []string{"nondeterministic_output"},
	},
}

var xinfoCommand = &Spec{
	Name: "xinfo", Arity: -2,
	Group: "stream", Since: "5.0.0",
	Summary: "Looks at a stream.", Complexity: "Depends on the subcommand",
	Sub: []*Spec{
		{
			Name: "xinfo|consumers", Arity: 4, Flags: ReadOnly | Heavy, Cats: CatStream,
			Keys: secondKey(KeyRO | KeyAccess), Run: runXInfoConsumers,
			Group: "stream", Since: "5.0.0",
			Summary: "Lists the consumers of a group.", Complexity: "O(N) with N the consumers",
			Args: []Arg{argKey("key", 1), arg("groupname", "string")},
			Tips: []string{"nondeterministic_output"},
		},
		{
			Name: "xinfo|groups", Arity: 3, Flags: ReadOnly | Heavy, Cats: CatStream,
			Keys: secondKey(KeyRO | KeyAccess), Run: runXInfoGroups,
			Group: "stream", Since: "5.0.0",
			Summary: "Lists the groups of a stream.", Complexity: "O(N) with N the groups",
			Args: []Arg{argKey("key", 1)},
		},
		{
			Name: "xinfo|stream", Arity: -3, Flags: ReadOnly | Heavy, Cats: CatStream,
			Keys: secondKey(KeyRO | KeyAccess), Run: runXInfoStream,
			Group: "stream", Since: "5.0.0",
			Summary: "Returns what a stream holds and remembers.", Complexity: "O(1), with FULL O(N) with N the entries, groups and consumers returned",
			Args: []Arg{argKey("key", 1), argBlock("full", argCount).token("FULL").optional()},
		},
		{
			Name: "xinfo|help", Arity: 2, Flags: Loading | Stale, Cats: CatStream,
			Run:   runXInfoHelp,
			Group: "stream", Since: "5.0.0",
			Summary: "Describes the subcommands.", Complexity: "O(1)",
		},
	},
}

var xgroupCommand = &Spec{
	Name: "xgroup", Arity: -2,
	Group: "stream", Since: "5.0.0",
	Summary: "Makes and changes consumer groups.", Complexity: "Depends on the subcommand",
	Sub: []*Spec{
		{
			Name: "xgroup|create", Arity: -5, Flags: Write | DenyOOM, Cats: CatStream,
			Keys: secondKey(KeyRW | KeyInsert), Run: runXGroupCreate,
			Group: "stream", Since: "5.0.0",
			Summary: "Makes a consumer group.", Complexity: "O(1)",
			Args: []Arg{
				argKey("key", 1),
				arg("groupname", "string"),
				argOneOf("id", arg("id", "string"), argToken("new_id", "$")),
				argToken("mkstream", "MKSTREAM").optional(),
				arg("entries_read", "integer").token("ENTRIESREAD").optional(),
			},
		},
		{
			Name: "xgroup|setid", Arity: -5, Flags: Write, Cats: CatStream,
			Keys: secondKey(KeyRW | KeyUpdate), Run: runXGroupSetID,
			Group: "stream", Since: "5.0.0",
			Summary: "Sets the last ID that a group got.", Complexity: "O(1)",
			Args: []Arg{
				argKey("key", 1),
				arg("groupname", "string"),
				argOneOf("id", arg("id", "string"), argToken("new_id", "$")),
				arg("entries_read", "integer").token("ENTRIESREAD").optional(),
			},
		},
		{
			Name: "xgroup|destroy", Arity: 4, Flags: Write | Heavy, Cats: CatStream,
			Keys: secondKey(KeyRW | KeyDelete), Run: runXGroupDestroy,
			Group: "stream", Since: "5.0.0",
			Summary: "Deletes a consumer group.", Complexity: "O(N) with N the group's consumers",
			Args: []Arg{argKey("key", 1), arg("groupname", "string")},
		},
		{
			Name: "xgroup|createconsumer", Arity: 5, Flags: Write | DenyOOM, Cats: CatStream,
			Keys: secondKey(KeyRW | KeyInsert), Run: runXGroupCreateConsumer,
			Group: "stream", Since: "6.2.0",
			Summary: "Makes a consumer.", Complexity: "O(1)",
			Args: []Arg{argKey("key", 1), arg("groupname", "string"), arg("consumername", "string")},
		},
		{
			Name: "xgroup|delconsumer", Arity: 5, Flags: Write | Heavy, Cats: CatStream,
			Keys: secondKey(KeyRW | KeyDelete), Run: runXGroupDelConsumer,
			Group: "stream", Since: "5.0.0",
			Summary: "Deletes a consumer with its pending entries and counts these.", Complexity: "O(N) with N the entries",
			Args: []Arg{argKey("key", 1), arg("groupname", "string"), arg("consumername", "string")},
		},
		{
			Name: "xgroup|help", Arity: 2, Flags: Loading | Stale, Cats: CatStream,
			Run:   runXGroupHelp,
			Group: "stream", Since: "5.0.0",
			Summary: "Describes the subcommands.", Complexity: "O(1)",
		},
	},
}
