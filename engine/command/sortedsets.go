package command

import (
	"slices"

	"lockstep/engine"
	"lockstep/engine/command/arg"
)

// Arguments that several commands on sorted sets have.
var (
	argWithScores = arg.Token("withscores", "WITHSCORES").Opt()
	argWeights    = arg.Of("weight", "integer").After("WEIGHTS").Opt().Many()
	argAggregate  = arg.OneOf("aggregate", arg.Token("sum", "SUM"), arg.Token("min", "MIN"), arg.Token("max", "MAX")).After("AGGREGATE").Opt()
	argScoreEnd   = arg.OneOf("where", arg.Token("min", "MIN"), arg.Token("max", "MAX"))
)

// SortedSetFamily are the commands on sorted sets. Handlers stand in
// sortedsets_*.go.
var SortedSetFamily = slices.Concat(sortedSetChanges, sortedSetReads, sortedSetCombinations)

// sortedSetChanges are those that change members of one sorted set.
var sortedSetChanges = []*Spec{
	{
		Name: "zadd", Arity: -4, Flags: Write | DenyOOM | Fast, Cats: CatSortedSet,
		Keys: OneKey(KeyRW | KeyUpdate), Run: runZAdd, Brings: BringsEach(2),
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
		Name: "zincrby", Arity: 4, Flags: Write | DenyOOM | Fast, Cats: CatSortedSet,
		Keys: OneKey(KeyRW | KeyAccess | KeyUpdate), Run: runZIncrBy, Brings: BringsOne,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Adds to the score of a member of a sorted set.", Complexity: "O(log(N)) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("increment", "integer"), arg.Of("member", "string")},
	},
	{
		Name: "zrem", Arity: -3, Flags: Write | Fast, Cats: CatSortedSet,
		Keys: OneKey(KeyRW | KeyDelete), Run: runZRem,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Removes members from a sorted set.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string").Many()},
	},
	{
		Name: "zremrangebyrank", Arity: 4, Flags: Write | Heavy, Cats: CatSortedSet,
		Keys: OneKey(KeyRW | KeyDelete), Run: runZRemRangeByRank,
		Group: "sorted-set", Since: "2.0.0",
		Summary: "Removes the members of a sorted set that stand in a range of places.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("start", "integer"), arg.Of("stop", "integer")},
	},
	{
		Name: "zremrangebyscore", Arity: 4, Flags: Write | Heavy, Cats: CatSortedSet,
		Keys: OneKey(KeyRW | KeyDelete), Run: runZRemRangeByScore,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Removes the members of a sorted set whose scores lie in a range.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("min", "double"), arg.Of("max", "double")},
	},
	{
		Name: "zremrangebylex", Arity: 4, Flags: Write | Heavy, Cats: CatSortedSet,
		Keys: OneKey(KeyRW | KeyDelete), Run: runZRemRangeByLex,
		Group: "sorted-set", Since: "2.8.9",
		Summary: "Removes the members of a sorted set that lie in a range of texts.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("min", "string"), arg.Of("max", "string")},
	},
	{
		Name: "zpopmin", Arity: -2, Flags: Write | Fast, Cats: CatSortedSet,
		Keys: OneKey(KeyRW | KeyAccess | KeyDelete), Run: runZPopMin, HeavyIf: HasCount,
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the members of a sorted set with the lowest scores.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer").Opt()},
	},
	{
		Name: "zpopmax", Arity: -2, Flags: Write | Fast, Cats: CatSortedSet,
		Keys: OneKey(KeyRW | KeyAccess | KeyDelete), Run: runZPopMax, HeavyIf: HasCount,
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the members of a sorted set with the highest scores.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer").Opt()},
	},
	{
		Name: "zmpop", Arity: -4, Flags: Write | MovableKeys, Cats: CatSortedSet,
		Keys: []KeySpec{CountedKeys(KeyRW|KeyAccess|KeyDelete, 1)},
		Run:  runZMPop, HeavyIf: PopsCounted,
		Group: "sorted-set", Since: "7.0.0",
		Summary: "Removes and returns members from the first of several sorted sets that has any.", Complexity: "O(K+M*log(N)) with K keys and M of N members removed",
		Args: []arg.Arg{arg.NumKeys, arg.Key("key", 1).Many(), argScoreEnd, arg.Count},
	},
	{
		Name: "bzpopmin", Arity: -3, Flags: Write | NoScript | Blocking | Fast, Cats: CatSortedSet,
		Keys: AllKeysButLast(KeyRW | KeyAccess | KeyDelete),
		Run:  runBZPopMin, Waits: &Waiting{engine.KindSortedSet, TimeoutAtEnd},
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the member with the lowest score of the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+log(N)) with K keys and N members",
		Args: []arg.Arg{arg.Key("key", 1).Many(), arg.Of("timeout", "double")},
	},
	{
		Name: "bzpopmax", Arity: -3, Flags: Write | NoScript | Blocking | Fast, Cats: CatSortedSet,
		Keys: AllKeysButLast(KeyRW | KeyAccess | KeyDelete),
		Run:  runBZPopMax, Waits: &Waiting{engine.KindSortedSet, TimeoutAtEnd},
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the member with the highest score of the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+log(N)) with K keys and N members",
		Args: []arg.Arg{arg.Key("key", 1).Many(), arg.Of("timeout", "double")},
	},
	{
		Name: "bzmpop", Arity: -5, Flags: Write | Blocking | MovableKeys, Cats: CatSortedSet,
		Keys: []KeySpec{CountedKeys(KeyRW|KeyAccess|KeyDelete, 2)},
		Run:  runBZMPop, Waits: &Waiting{engine.KindSortedSet, TimeoutOfPop(SortedSetEnds)}, HeavyIf: PopsCounted,
		Group: "sorted-set", Since: "7.0.0",
		Summary: "Removes and returns members from the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+M*log(N)) with K keys and M of N members removed",
		Args: []arg.Arg{arg.Of("timeout", "double"), arg.NumKeys, arg.Key("key", 1).Many(), argScoreEnd, arg.Count},
	},
}
