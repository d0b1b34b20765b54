package keycmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// KeyspaceRows are the commands on whole databases. Their handlers are in the files keyspace_*. The
// rows lack Redis's tips that send a client to every shard. Any node answers for all shards, so a
// client that added up the replies of all nodes would count every key once for each node.
var KeyspaceRows = []*command.Spec{
	{
		Name: "keys", Arity: 2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatKeyspace | command.CatDangerous,
		Scope: command.ScopeScan, Merge: command.MergeConcat, Run: runKeys,
		Group: "generic", Since: "1.0.0",
		Summary: "Returns the names of all keys that match a pattern.", Complexity: "O(N) with N the number of keys in the database",
		Args: []arg.Arg{arg.Of("pattern", "pattern")},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "scan", Arity: -2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatKeyspace,
		Scope: command.ScopeScan, Merge: command.MergeCursor, Run: runScan,
		Group: "generic", Since: "2.8.0",
		Summary: "Walks through the names of all keys, a few at a time.", Complexity: "O(1) for a call with a small COUNT, O(N) for the whole walk",
		Args: []arg.Arg{arg.Of("cursor", "integer"), arg.Match, arg.Count, arg.Of("type", "string").After("TYPE").AddedIn("6.0.0").Opt()},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "randomkey", Arity: 1, Flags: command.ReadOnly | command.Heavy, Cats: command.CatKeyspace,
		Scope: command.ScopeScan, Merge: command.MergeChance, Run: runRandomKey,
		Group: "generic", Since: "1.0.0",
		Summary: "Returns the name of a key chosen by chance.", Complexity: "O(S+N) with S the number of lock slots and N the keys of one",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "dbsize", Arity: 1, Flags: command.ReadOnly | command.Fast, Cats: command.CatKeyspace,
		Scope: command.ScopeScan, Merge: command.MergeSum, Run: runDBSize,
		Group: "server", Since: "1.0.0",
		Summary: "Counts the keys of the database.", Complexity: "O(S) with S the number of lock slots",
	},
	{
		Name: "flushdb", Arity: -1, Flags: command.Write | command.Heavy, Cats: command.CatKeyspace | command.CatDangerous,
		Scope: command.ScopeGlobal, Merge: command.MergeSame, Run: runFlushDB,
		Group: "server", Since: "1.0.0",
		Summary: "Deletes all keys of the database.", Complexity: "O(S) with S the number of lock slots",
		Args: []arg.Arg{arg.OneOf("async", arg.Token("async", "ASYNC").AddedIn("4.0.0"), arg.Token("sync", "SYNC").AddedIn("6.2.0")).Opt()},
	},
	{
		Name: "flushall", Arity: -1, Flags: command.Write | command.Heavy, Cats: command.CatKeyspace | command.CatDangerous,
		Scope: command.ScopeGlobal, Merge: command.MergeSame, Run: runFlushAll,
		Group: "server", Since: "1.0.0",
		Summary: "Deletes all keys of all databases.", Complexity: "O(S) with S the number of lock slots",
		Args: []arg.Arg{arg.OneOf("async", arg.Token("async", "ASYNC").AddedIn("4.0.0"), arg.Token("sync", "SYNC").AddedIn("6.2.0")).Opt()},
	},
	{
		Name: "swapdb", Arity: 3, Flags: command.Write | command.Fast, Cats: command.CatKeyspace | command.CatDangerous,
		Scope: command.ScopeGlobal, Merge: command.MergeSame, Run: runSwapDB,
		Group: "server", Since: "4.0.0",
		Summary: "Exchanges the contents of two databases.", Complexity: "O(S+N) with S the number of lock slots and N the keys that expire",
		Args: []arg.Arg{arg.Of("index1", "integer"), arg.Of("index2", "integer")},
	},
}
