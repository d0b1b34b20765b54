// Package keycmd is the commands on keys of any kind and on whole databases: DEL, EXPIRE, DUMP,
// SCAN, FLUSHALL, OBJECT and their like, and the commands that only Lockstep itself sends.
//
// Rows, KeyspaceRows and InternalRows have a row for each command. The package knows no kind of
// value: where it needs one (DUMP, RESTORE, digests) it uses package values.
//
// Commands that visit many keys walk lock slot by lock slot and in hash order (walk). A place in
// such a walk is a function of the state alone, so a SCAN that continues on another node misses
// nothing.
package keycmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// argExpireIf is the condition of EXPIRE and its like.
var argExpireIf = arg.OneOf("condition",
	arg.Token("nx", "NX"), arg.Token("xx", "XX"), arg.Token("gt", "GT"), arg.Token("lt", "LT"),
).AddedIn("7.0.0").Opt()

// Rows are the commands on keys of any type.
var Rows = []*command.Spec{
	{
		Name: "del", Arity: -2, Flags: command.Write, Cats: command.CatKeyspace,
		Keys: command.AllKeys(command.KeyRM | command.KeyDelete), Run: runDel,
		Group: "generic", Since: "1.0.0",
		Summary: "Deletes keys.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
		Tips: []string{"request_policy:multi_shard", "response_policy:agg_sum"},
	},
	{
		Name: "unlink", Arity: -2, Flags: command.Write | command.Fast, Cats: command.CatKeyspace,
		Keys: command.AllKeys(command.KeyRM | command.KeyDelete), Run: runDel,
		Group: "generic", Since: "4.0.0",
		Summary: "Deletes keys; here the same as DEL.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
		Tips: []string{"request_policy:multi_shard", "response_policy:agg_sum"},
	},
	{
		Name: "exists", Arity: -2, Flags: command.ReadOnly | command.Fast, Cats: command.CatKeyspace,
		Keys: command.AllKeys(command.KeyRO), Run: runExists,
		Group: "generic", Since: "1.0.0",
		Summary: "Counts how many of the given keys exist.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
		Tips: []string{"request_policy:multi_shard", "response_policy:agg_sum"},
	},
	{
		Name: "touch", Arity: -2, Flags: command.ReadOnly | command.Fast, Cats: command.CatKeyspace,
		Keys: command.AllKeys(command.KeyRO), Run: runTouch,
		Group: "generic", Since: "3.2.1",
		Summary: "Counts how many of the given keys exist and marks them as used now.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
		Tips: []string{"request_policy:multi_shard", "response_policy:agg_sum"},
	},
	{
		Name: "type", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRO), Run: runType,
		Group: "generic", Since: "1.0.0",
		Summary: "Returns the type of the value a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "rename", Arity: 3, Flags: command.Write, Cats: command.CatKeyspace,
		Keys: command.TwoKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, command.KeyOW|command.KeyUpdate), Run: runRename,
		Group: "generic", Since: "1.0.0",
		Summary: "Gives a key another name, in place of what was there.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Key("newkey", 2)},
	},
	{
		Name: "renamenx", Arity: 3, Flags: command.Write | command.Fast, Cats: command.CatKeyspace,
		Keys: command.TwoKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, command.KeyOW|command.KeyInsert), Run: runRenameNX,
		Group: "generic", Since: "1.0.0",
		Summary: "Gives a key another name unless that name is taken.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Key("newkey", 2)},
	},
	{
		Name: "copy", Arity: -3, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatKeyspace,
		Keys: command.TwoKeys(command.KeyRO|command.KeyAccess, command.KeyOW|command.KeyUpdate), Run: runCopy,
		Group: "generic", Since: "6.2.0",
		Summary: "Copies a key's value to another key.", Complexity: "O(N) with N the size of the value",
		Args: []arg.Arg{
			arg.Key("source", 1),
			arg.Key("destination", 2),
			arg.Of("destination-db", "integer").After("DB").Opt(),
			arg.Token("replace", "REPLACE").Opt(),
		},
	},
	{
		Name: "move", Arity: 3, Flags: command.Write | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runMove,
		Group: "generic", Since: "1.0.0",
		Summary: "Moves a key to another database.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("db", "integer")},
	},
	{
		Name: "expire", Arity: -3, Flags: command.Write | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runExpire,
		Group: "generic", Since: "1.0.0",
		Summary: "Lets a key expire after a number of seconds.", Complexity: "O(log N) with N the keys of the lock slot that expire",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("seconds", "integer"), argExpireIf},
	},
	{
		Name: "pexpire", Arity: -3, Flags: command.Write | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runPExpire,
		Group: "generic", Since: "2.6.0",
		Summary: "Lets a key expire after a number of milliseconds.", Complexity: "O(log N) with N the keys of the lock slot that expire",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("milliseconds", "integer"), argExpireIf},
	},
	{
		Name: "expireat", Arity: -3, Flags: command.Write | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runExpireAt,
		Group: "generic", Since: "1.2.0",
		Summary: "Lets a key expire at a Unix time in seconds.", Complexity: "O(log N) with N the keys of the lock slot that expire",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("unix-time-seconds", "unix-time"), argExpireIf},
	},
	{
		Name: "pexpireat", Arity: -3, Flags: command.Write | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runPExpireAt,
		Group: "generic", Since: "2.6.0",
		Summary: "Lets a key expire at a Unix time in milliseconds.", Complexity: "O(log N) with N the keys of the lock slot that expire",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("unix-time-milliseconds", "unix-time"), argExpireIf},
	},
	{
		Name: "ttl", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runTTL,
		Group: "generic", Since: "1.0.0",
		Summary: "Returns the seconds after which a key expires.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "pttl", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runPTTL,
		Group: "generic", Since: "2.6.0",
		Summary: "Returns the milliseconds after which a key expires.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "expiretime", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runExpireTime,
		Group: "generic", Since: "7.0.0",
		Summary: "Returns the Unix time in seconds at which a key expires.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "pexpiretime", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runPExpireTime,
		Group: "generic", Since: "7.0.0",
		Summary: "Returns the Unix time in milliseconds at which a key expires.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "persist", Arity: 2, Flags: command.Write | command.Fast, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runPersist,
		Group: "generic", Since: "2.2.0",
		Summary: "Lets a key never expire.", Complexity: "O(log N) with N the keys of the lock slot that expire",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	objectCommand,
	migrateCommand,
	{
		Name: "dump", Arity: 2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatKeyspace,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runDump,
		Group: "generic", Since: "2.6.0",
		Summary: "Returns a key's value in the form that RESTORE takes.", Complexity: "O(N) with N the size of the value",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "restore", Arity: -4, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatKeyspace | command.CatDangerous,
		Keys: command.OneKey(command.KeyOW | command.KeyUpdate), Run: runRestore, Grows: restoreGrowth,
		Group: "generic", Since: "2.6.0",
		Summary: "Makes a key from what DUMP returned.", Complexity: "O(N) with N the size of the value",
		Args: restoreArgs,
	},
	{
		Name: "restore-asking", System: true, Arity: -4, Flags: command.Write | command.DenyOOM | command.Asking | command.Heavy | command.NotInScripts, Cats: command.CatKeyspace | command.CatDangerous,
		Keys: command.OneKey(command.KeyOW | command.KeyUpdate), Run: runRestore, Grows: restoreGrowth, SentAs: "restore",
		Group: "server", Since: "3.0.0",
		Summary: "RESTORE, as a node of a Redis Cluster sends it when it hands a key over.", Complexity: "O(N) with N the size of the value",
		Args: restoreArgs,
	},
}

var restoreArgs = []arg.Arg{
	arg.Key("key", 1),
	arg.Of("ttl", "integer"),
	arg.Of("serialized-value", "string"),
	arg.Token("replace", "REPLACE").AddedIn("3.0.0").Opt(),
	arg.Token("absttl", "ABSTTL").AddedIn("5.0.0").Opt(),
	arg.Of("seconds", "integer").After("IDLETIME").AddedIn("5.0.0").Opt(),
	arg.Of("frequency", "integer").After("FREQ").AddedIn("5.0.0").Opt(),
}
