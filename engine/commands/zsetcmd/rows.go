// Package zsetcmd is the commands on sorted sets: ZADD, ZRANGE, ZUNIONSTORE, BZPOPMIN and their
// like.
//
// Rows has a row for each command, Codecs says how a sorted set is stored in snapshots and dumps.
// The sorted set itself is package zset.
//
// A geo index is a sorted set whose scores are places. Package geocmd builds on this one, and uses
// Add, ReadSortedSet, EachScore and SortEntries.
package zsetcmd

import (
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// Arguments that several commands on sorted sets have.
var (
	argWithScores = arg.Token("withscores", "WITHSCORES").Opt()
	argWeights    = arg.Of("weight", "integer").After("WEIGHTS").Opt().Many()
	argAggregate  = arg.OneOf("aggregate", arg.Token("sum", "SUM"), arg.Token("min", "MIN"), arg.Token("max", "MAX")).After("AGGREGATE").Opt()
	argScoreEnd   = arg.OneOf("where", arg.Token("min", "MIN"), arg.Token("max", "MAX"))
)

// Rows are the commands on sorted sets.
var Rows = slices.Concat(sortedSetChanges, sortedSetReads, sortedSetCombinations)

// sortedSetChanges are the commands that change members of one sorted set.
var sortedSetChanges = []*command.Spec{
	{
		Name: "zadd", Arity: -4, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runZAdd, Brings: command.BringsEach(2),
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Gives members of a sorted set their scores, adding those that are new.", Complexity: "O(log(N)) for each member, with N the number of members",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.OneOf("condition", arg.Token("nx", "NX"), arg.Token("xx", "XX")).AddedIn("3.0.2").Opt(),
			arg.OneOf("comparison", arg.Token("gt", "GT"), arg.Token("lt", "LT")).AddedIn("6.2.0").Opt(),
			arg.Token("change", "CH").AddedIn("3.0.2").Opt(),
			arg.Token("increment", "INCR").AddedIn("3.0.2").Opt(),
			arg.Block("score_member", arg.Of("score", "double"), arg.Of("member", "string")).Many(),
		},
	},
	{
		Name: "zincrby", Arity: 4, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runZIncrBy, Brings: command.BringsOne,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Adds to the score of a member of a sorted set.", Complexity: "O(log(N)) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("increment", "integer"), arg.Of("member", "string")},
	},
	{
		Name: "zrem", Arity: -3, Flags: command.Write | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runZRem,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Removes members from a sorted set.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string").Many()},
	},
	{
		Name: "zremrangebyrank", Arity: 4, Flags: command.Write | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runZRemRangeByRank,
		Group: "sorted-set", Since: "2.0.0",
		Summary: "Removes the members of a sorted set that stand in a range of places.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("start", "integer"), arg.Of("stop", "integer")},
	},
	{
		Name: "zremrangebyscore", Arity: 4, Flags: command.Write | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runZRemRangeByScore,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Removes the members of a sorted set whose scores lie in a range.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("min", "double"), arg.Of("max", "double")},
	},
	{
		Name: "zremrangebylex", Arity: 4, Flags: command.Write | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runZRemRangeByLex,
		Group: "sorted-set", Since: "2.8.9",
		Summary: "Removes the members of a sorted set that lie in a range of texts.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("min", "string"), arg.Of("max", "string")},
	},
	{
		Name: "zpopmin", Arity: -2, Flags: command.Write | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runZPopMin, HeavyIf: command.HasCount,
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the members of a sorted set with the lowest scores.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer").Opt()},
	},
	{
		Name: "zpopmax", Arity: -2, Flags: command.Write | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runZPopMax, HeavyIf: command.HasCount,
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the members of a sorted set with the highest scores.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer").Opt()},
	},
	{
		Name: "zmpop", Arity: -4, Flags: command.Write | command.MovableKeys, Cats: command.CatSortedSet,
		Keys: []command.KeySpec{command.CountedKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, 1)},
		Run:  runZMPop, HeavyIf: command.PopsCounted,
		Group: "sorted-set", Since: "7.0.0",
		Summary: "Removes and returns members from the first of several sorted sets that has any.", Complexity: "O(K+M*log(N)) with K keys and M of N members removed",
		Args: []arg.Arg{arg.NumKeys, arg.Key("key", 1).Many(), argScoreEnd, arg.Count},
	},
	{
		Name: "bzpopmin", Arity: -3, Flags: command.Write | command.NoScript | command.Blocking | command.Fast, Cats: command.CatSortedSet,
		Keys: command.AllKeysButLast(command.KeyRW | command.KeyAccess | command.KeyDelete),
		Run:  runBZPopMin, Waits: &command.Waiting{Kind: engine.KindSortedSet, TimeoutMs: command.TimeoutAtEnd},
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the member with the lowest score of the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+log(N)) with K keys and N members",
		Args: []arg.Arg{arg.Key("key", 1).Many(), arg.Of("timeout", "double")},
	},
	{
		Name: "bzpopmax", Arity: -3, Flags: command.Write | command.NoScript | command.Blocking | command.Fast, Cats: command.CatSortedSet,
		Keys: command.AllKeysButLast(command.KeyRW | command.KeyAccess | command.KeyDelete),
		Run:  runBZPopMax, Waits: &command.Waiting{Kind: engine.KindSortedSet, TimeoutMs: command.TimeoutAtEnd},
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the member with the highest score of the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+log(N)) with K keys and N members",
		Args: []arg.Arg{arg.Key("key", 1).Many(), arg.Of("timeout", "double")},
	},
	{
		Name: "bzmpop", Arity: -5, Flags: command.Write | command.Blocking | command.MovableKeys, Cats: command.CatSortedSet,
		Keys: []command.KeySpec{command.CountedKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, 2)},
		Run:  runBZMPop, Waits: &command.Waiting{Kind: engine.KindSortedSet, TimeoutMs: command.TimeoutOfPop(command.SortedSetEnds)}, HeavyIf: command.PopsCounted,
		Group: "sorted-set", Since: "7.0.0",
		Summary: "Removes and returns members from the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+M*log(N)) with K keys and M of N members removed",
		Args: []arg.Arg{arg.Of("timeout", "double"), arg.NumKeys, arg.Key("key", 1).Many(), argScoreEnd, arg.Count},
	},
}
