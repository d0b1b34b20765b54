package command

import (
	"slices"

	"lockstep/engine"
)

// Arguments that several commands on sorted sets have.
var (
	argWithScores = argToken("withscores", "WITHSCORES").optional()
	argWeights    = arg("weight", "integer").token("WEIGHTS").optional().multiple()
	argAggregate  = argOneOf("aggregate", argToken("sum", "SUM"), argToken("min", "MIN"), argToken("max", "MAX")).token("AGGREGATE").optional()
	argScoreEnd   = argOneOf("where", argToken("min", "MIN"), argToken("max", "MAX"))
)

// sortedSetFamily are the commands on sorted sets. Handlers stand in
// sortedsets_*.go.
var sortedSetFamily = slices.Concat(sortedSetChanges, sortedSetReads, sortedSetCombinations)

// sortedSetChanges are those that change members of one sorted set.
var sortedSetChanges = []*Spec{
	{
		Name: "zadd", Arity: -4, Flags: Write | DenyOOM | Fast, Cats: CatSortedSet,
		Keys: oneKey(KeyRW | KeyUpdate), Run: runZAdd, Brings: eachBehindKey(2),
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Gives members of a sorted set their scores, adding those that are new.", Complexity: "O(log(N)) for each member, with N the number of members",
		Args: []Arg{
			argKey("key", 1),
			argOneOf("condition", argToken("nx", "NX"), argToken("xx", "XX")).since("3.0.2").optional(),
			argOneOf("comparison", argToken("gt", "GT"), argToken("lt", "LT")).since("6.2.0").optional(),
			argToken("change", "CH").since("3.0.2").optional(),
			argToken("increment", "INCR").since("3.0.2").optional(),
			argBlock("score_member", arg("score", "double"), arg("member", "string")).multiple(),
		},
	},
	{
		Name: "zincrby", Arity: 4, Flags: Write | DenyOOM | Fast, Cats: CatSortedSet,
		Keys: oneKey(KeyRW | KeyAccess | KeyUpdate), Run: runZIncrBy, Brings: one,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Adds to the score of a member of a sorted set.", Complexity: "O(log(N)) with N the number of members",
		Args: []Arg{argKey("key", 1), arg("increment", "integer"), arg("member", "string")},
	},
	{
		Name: "zrem", Arity: -3, Flags: Write | Fast, Cats: CatSortedSet,
		Keys: oneKey(KeyRW | KeyDelete), Run: runZRem,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Removes members from a sorted set.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []Arg{argKey("key", 1), arg("member", "string").multiple()},
	},
	{
		Name: "zremrangebyrank", Arity: 4, Flags: Write | Heavy, Cats: CatSortedSet,
		Keys: oneKey(KeyRW | KeyDelete), Run: runZRemRangeByRank,
		Group: "sorted-set", Since: "2.0.0",
		Summary: "Removes the members of a sorted set that stand in a range of places.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []Arg{argKey("key", 1), arg("start", "integer"), arg("stop", "integer")},
	},
	{
		Name: "zremrangebyscore", Arity: 4, Flags: Write | Heavy, Cats: CatSortedSet,
		Keys: oneKey(KeyRW | KeyDelete), Run: runZRemRangeByScore,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Removes the members of a sorted set whose scores lie in a range.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []Arg{argKey("key", 1), arg("min", "double"), arg("max", "double")},
	},
	{
		Name: "zremrangebylex", Arity: 4, Flags: Write | Heavy, Cats: CatSortedSet,
		Keys: oneKey(KeyRW | KeyDelete), Run: runZRemRangeByLex,
		Group: "sorted-set", Since: "2.8.9",
		Summary: "Removes the members of a sorted set that lie in a range of texts.", Complexity: "O(log(N)+M*log(N)) with M of N members removed",
		Args: []Arg{argKey("key", 1), arg("min", "string"), arg("max", "string")},
	},
	{
		Name: "zpopmin", Arity: -2, Flags: Write | Fast, Cats: CatSortedSet,
		Keys: oneKey(KeyRW | KeyAccess | KeyDelete), Run: runZPopMin, HeavyIf: hasCount,
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the members of a sorted set with the lowest scores.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []Arg{argKey("key", 1), arg("count", "integer").optional()},
	},
	{
		Name: "zpopmax", Arity: -2, Flags: Write | Fast, Cats: CatSortedSet,
		Keys: oneKey(KeyRW | KeyAccess | KeyDelete), Run: runZPopMax, HeavyIf: hasCount,
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the members of a sorted set with the highest scores.", Complexity: "O(M*log(N)) with M of N members removed",
		Args: []Arg{argKey("key", 1), arg("count", "integer").optional()},
	},
	{
		Name: "zmpop", Arity: -4, Flags: Write | MovableKeys, Cats: CatSortedSet,
		Keys: []KeySpec{countedKeys(KeyRW|KeyAccess|KeyDelete, 1)},
		Run:  runZMPop, HeavyIf: popsCounted,
		Group: "sorted-set", Since: "7.0.0",
		Summary: "Removes and returns members from the first of several sorted sets that has any.", Complexity: "O(K+M*log(N)) with K keys and M of N members removed",
		Args: []Arg{argNumKeys, argKey("key", 1).multiple(), argScoreEnd, argCount},
	},
	{
		Name: "bzpopmin", Arity: -3, Flags: Write | NoScript | Blocking | Fast, Cats: CatSortedSet,
		Keys: allKeysButLast(KeyRW | KeyAccess | KeyDelete),
		Run:  runBZPopMin, Waits: &Waiting{Kind: engine.KindSortedSet, TimeoutMs: timeoutAtEnd},
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the member with the lowest score of the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+log(N)) with K keys and N members",
		Args: []Arg{argKey("key", 1).multiple(), arg("timeout", "double")},
	},
	{
		Name: "bzpopmax", Arity: -3, Flags: Write | NoScript | Blocking | Fast, Cats: CatSortedSet,
		Keys: allKeysButLast(KeyRW | KeyAccess | KeyDelete),
		Run:  runBZPopMax, Waits: &Waiting{Kind: engine.KindSortedSet, TimeoutMs: timeoutAtEnd},
		Group: "sorted-set", Since: "5.0.0",
		Summary: "Removes and returns the member with the highest score of the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+log(N)) with K keys and N members",
		Args: []Arg{argKey("key", 1).multiple(), arg("timeout", "double")},
	},
	{
		Name: "bzmpop", Arity: -5, Flags: Write | Blocking | MovableKeys, Cats: CatSortedSet,
		Keys: []KeySpec{countedKeys(KeyRW|KeyAccess|KeyDelete, 2)},
		Run:  runBZMPop, Waits: &Waiting{Kind: engine.KindSortedSet, TimeoutMs: timeoutOfPop(sortedSetEnds)}, HeavyIf: popsCounted,
		Group: "sorted-set", Since: "7.0.0",
		Summary: "Removes and returns members from the first of several sorted sets that has any, and waits for one.", Complexity: "O(K+M*log(N)) with K keys and M of N members removed",
		Args: []Arg{arg("timeout", "double"), argNumKeys, argKey("key", 1).multiple(), argScoreEnd, argCount},
	},
}
