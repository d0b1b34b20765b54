package zsetcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// sortedSetCombinations are the commands that combine several sorted sets.
var sortedSetCombinations = []*command.Spec{
	{
		Name: "zunion", Arity: -3, Flags: command.ReadOnly | command.MovableKeys | command.Heavy, Cats: command.CatSortedSet,
		Keys:  []command.KeySpec{command.CountedKeys(command.KeyRO|command.KeyAccess, 1)},
		Run:   runZUnion,
		Group: "sorted-set", Since: "6.2.0",
		Summary: "Returns the members of any of several sorted sets.", Complexity: "O(N+M*log(M)) with N members given and M returned",
		Args: []arg.Arg{arg.NumKeys, arg.Key("key", 1).Many(), argWeights, argAggregate, argWithScores},
	},
	{
		Name: "zinter", Arity: -3, Flags: command.ReadOnly | command.MovableKeys | command.Heavy, Cats: command.CatSortedSet,
		Keys:  []command.KeySpec{command.CountedKeys(command.KeyRO|command.KeyAccess, 1)},
		Run:   runZInter,
		Group: "sorted-set", Since: "6.2.0",
		Summary: "Returns the members that all of several sorted sets have.", Complexity: "O(N*K*log(N)+M*log(M)) with N members in the smallest of K sets and M returned",
		Args: []arg.Arg{arg.NumKeys, arg.Key("key", 1).Many(), argWeights, argAggregate, argWithScores},
	},
	{
		Name: "zdiff", Arity: -3, Flags: command.ReadOnly | command.MovableKeys | command.Heavy, Cats: command.CatSortedSet,
		Keys:  []command.KeySpec{command.CountedKeys(command.KeyRO|command.KeyAccess, 1)},
		Run:   runZDiff,
		Group: "sorted-set", Since: "6.2.0",
		Summary: "Returns the members of a sorted set that none of several others has.", Complexity: "O(N*K*log(N)+M*log(M)) with N members in the first of K sets and M returned",
		Args: []arg.Arg{arg.NumKeys, arg.Key("key", 1).Many(), argWithScores},
	},
	{
		Name: "zintercard", Arity: -3, Flags: command.ReadOnly | command.MovableKeys | command.Heavy, Cats: command.CatSortedSet,
		Keys:  []command.KeySpec{command.CountedKeys(command.KeyRO|command.KeyAccess, 1)},
		Run:   runZInterCard,
		Group: "sorted-set", Since: "7.0.0",
		Summary: "Counts the members that all of several sorted sets have.", Complexity: "O(N*K*log(N)) with N members in the smallest of K sets",
		Args: []arg.Arg{arg.NumKeys, arg.Key("key", 1).Many(), arg.Of("limit", "integer").After("LIMIT").Opt()},
	},
	{
		Name: "zunionstore", Arity: -4, Flags: command.Write | command.DenyOOM | command.MovableKeys | command.Heavy, Cats: command.CatSortedSet,
		Keys:  command.StoreCountedKeys(),
		Run:   runZUnionStore,
		Group: "sorted-set", Since: "2.0.0",
		Summary: "Stores the members of any of several sorted sets.", Complexity: "O(N+M*log(M)) with N members given and M stored",
		Args: []arg.Arg{arg.Key("destination", 1), arg.NumKeys, arg.Key("key", 2).Many(), argWeights, argAggregate},
	},
	{
		Name: "zinterstore", Arity: -4, Flags: command.Write | command.DenyOOM | command.MovableKeys | command.Heavy, Cats: command.CatSortedSet,
		Keys:  command.StoreCountedKeys(),
		Run:   runZInterStore,
		Group: "sorted-set", Since: "2.0.0",
		Summary: "Stores the members that all of several sorted sets have.", Complexity: "O(N*K*log(N)+M*log(M)) with N members in the smallest of K sets and M stored",
		Args: []arg.Arg{arg.Key("destination", 1), arg.NumKeys, arg.Key("key", 2).Many(), argWeights, argAggregate},
	},
	{
		Name: "zdiffstore", Arity: -4, Flags: command.Write | command.DenyOOM | command.MovableKeys | command.Heavy, Cats: command.CatSortedSet,
		Keys:  command.StoreCountedKeys(),
		Run:   runZDiffStore,
		Group: "sorted-set", Since: "6.2.0",
		Summary: "Stores the members of a sorted set that none of several others has.", Complexity: "O(N*K*log(N)+M*log(M)) with N members in the first of K sets and M stored",
		Args: []arg.Arg{arg.Key("destination", 1), arg.NumKeys, arg.Key("key", 2).Many()},
	},
}
