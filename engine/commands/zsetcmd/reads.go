package zsetcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// sortedSetReads are the commands that read one sorted set, or copy a part of it.
var sortedSetReads = []*command.Spec{
	{
		Name: "zcard", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO), Run: runZCard,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Returns the number of members of a sorted set.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "zscore", Arity: 3, Flags: command.ReadOnly | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZScore,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Returns the score of a member of a sorted set.", Complexity: "O(log(N)) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string")},
	},
	{
		Name: "zmscore", Arity: -3, Flags: command.ReadOnly | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZMScore,
		Group: "sorted-set", Since: "6.2.0",
		Summary: "Returns the scores of several members of a sorted set.", Complexity: "O(M*log(N)) with M of N members asked for",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string").Many()},
	},
	{
		Name: "zrank", Arity: -3, Flags: command.ReadOnly | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZRank,
		Group: "sorted-set", Since: "2.0.0",
		Summary: "Returns the place of a member of a sorted set, counted from the lowest score.", Complexity: "O(log(N)) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string"), arg.Token("withscore", "WITHSCORE").AddedIn("7.2.0").Opt()},
	},
	{
		Name: "zrevrank", Arity: -3, Flags: command.ReadOnly | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZRevRank,
		Group: "sorted-set", Since: "2.0.0",
		Summary: "Returns the place of a member of a sorted set, counted from the highest score.", Complexity: "O(log(N)) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string"), arg.Token("withscore", "WITHSCORE").AddedIn("7.2.0").Opt()},
	},
	{
		Name: "zcount", Arity: 4, Flags: command.ReadOnly | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZCount,
		Group: "sorted-set", Since: "2.0.0",
		Summary: "Counts the members of a sorted set whose scores lie in a range.", Complexity: "O(log(N)) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("min", "double"), arg.Of("max", "double")},
	},
	{
		Name: "zlexcount", Arity: 4, Flags: command.ReadOnly | command.Fast, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZLexCount,
		Group: "sorted-set", Since: "2.8.9",
		Summary: "Counts the members of a sorted set that lie in a range of texts.", Complexity: "O(log(N)) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("min", "string"), arg.Of("max", "string")},
	},
	{
		Name: "zrange", Arity: -4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), BriefIf: command.BriefPlaces, Run: runZRange,
		Group: "sorted-set", Since: "1.2.0",
		Summary: "Returns the members of a sorted set that lie in a range of places, scores or texts.", Complexity: "O(log(N)+M) with M of N members returned",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of("start", "string"),
			arg.Of("stop", "string"),
			arg.OneOf("sortby", arg.Token("byscore", "BYSCORE"), arg.Token("bylex", "BYLEX")).AddedIn("6.2.0").Opt(),
			arg.Token("rev", "REV").AddedIn("6.2.0").Opt(),
			arg.Limit.AddedIn("6.2.0"),
			argWithScores,
		},
	},
	{
		Name: "zrangestore", Arity: -5, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatSortedSet,
		Keys:  command.TwoKeys(command.KeyOW|command.KeyUpdate, command.KeyRO|command.KeyAccess),
		Run:   runZRangeStore,
		Group: "sorted-set", Since: "6.2.0",
		Summary: "Stores the members of a sorted set that lie in a range of places, scores or texts in another one.", Complexity: "O(log(N)+M*log(M)) with M of N members stored",
		Args: []arg.Arg{
			arg.Key("dst", 1),
			arg.Key("src", 2),
			arg.Of("min", "string"),
			arg.Of("max", "string"),
			arg.OneOf("sortby", arg.Token("byscore", "BYSCORE"), arg.Token("bylex", "BYLEX")).Opt(),
			arg.Token("rev", "REV").Opt(),
			arg.Limit,
		},
	},
	{
		Name: "zrangebyscore", Arity: -4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZRangeByScore,
		Group: "sorted-set", Since: "1.0.5", DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `BYSCORE` argument",
		Summary: "Returns the members of a sorted set whose scores lie in a range.", Complexity: "O(log(N)+M) with M of N members returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("min", "double"), arg.Of("max", "double"), argWithScores.AddedIn("2.0.0"), arg.Limit},
	},
	{
		Name: "zrevrangebyscore", Arity: -4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZRevRangeByScore,
		Group: "sorted-set", Since: "2.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` and `BYSCORE` arguments",
		Summary: "Returns the members of a sorted set whose scores lie in a range, highest scores first.", Complexity: "O(log(N)+M) with M of N members returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("max", "double"), arg.Of("min", "double"), argWithScores, arg.Limit},
	},
	{
		Name: "zrangebylex", Arity: -4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZRangeByLex,
		Group: "sorted-set", Since: "2.8.9", DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `BYLEX` argument",
		Summary: "Returns the members of a sorted set that lie in a range of texts.", Complexity: "O(log(N)+M) with M of N members returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("min", "string"), arg.Of("max", "string"), arg.Limit},
	},
	{
		Name: "zrevrangebylex", Arity: -4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZRevRangeByLex,
		Group: "sorted-set", Since: "2.8.9", DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` and `BYLEX` arguments",
		Summary: "Returns the members of a sorted set that lie in a range of texts, last ones first.", Complexity: "O(log(N)+M) with M of N members returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("max", "string"), arg.Of("min", "string"), arg.Limit},
	},
	{
		Name: "zrevrange", Arity: -4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), BriefIf: command.BriefPlaces, Run: runZRevRange,
		Group: "sorted-set", Since: "1.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` argument",
		Summary: "Returns the members of a sorted set in a range of places, counted from the highest score.", Complexity: "O(log(N)+M) with M of N members returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("start", "integer"), arg.Of("stop", "integer"), argWithScores},
	},
	{
		Name: "zrandmember", Arity: -2, Flags: command.ReadOnly, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZRandMember, HeavyIf: command.HasCount,
		Group: "sorted-set", Since: "6.2.0",
		Summary: "Returns random members of a sorted set.", Complexity: "O(M*log(N)) with M of N members returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Block("options", arg.Of("count", "integer"), argWithScores).Opt()},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "zscan", Arity: -3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSortedSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runZScan,
		Group: "sorted-set", Since: "2.8.0",
		Summary: "Walks over the members of a sorted set, some at each call.", Complexity: "O(1) for a call, O(N) for a whole walk over N members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("cursor", "integer"), arg.Match, arg.Count},
		Tips: []string{"nondeterministic_output"},
	},
}
