// Package setcmd is the commands on sets: SADD, SINTER, SPOP, SSCAN and their like.
//
// Rows has a row for each command, Codecs says how a set is stored in snapshots and dumps. The set
// itself is package set.
//
// SPOP and SRANDMEMBER draw from the seed of the context, and the order of a set is a function of
// its history. So all replicas draw the same members.
package setcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// Rows are the commands on sets.
var Rows = []*command.Spec{
	{
		Name: "sadd", Arity: -3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runSAdd,
		Group: "set", Since: "1.0.0",
		Summary: "Adds members to a set.", Complexity: "O(N) with N the number of members given; one to a large set is logarithmic",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string").Many()},
	},
	{
		Name: "srem", Arity: -3, Flags: command.Write | command.Fast, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runSRem,
		Group: "set", Since: "1.0.0",
		Summary: "Removes members from a set.", Complexity: "O(N) with N the number of members given; one from a large set is logarithmic",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string").Many()},
	},
	{
		Name: "scard", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRO), Run: runSCard,
		Group: "set", Since: "1.0.0",
		Summary: "Returns the number of members of a set.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "sismember", Arity: 3, Flags: command.ReadOnly | command.Fast, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRO), Run: runSIsMember,
		Group: "set", Since: "1.0.0",
		Summary: "Tells whether a set has a member.", Complexity: "O(1); logarithmic in a large set",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string")},
	},
	{
		Name: "smismember", Arity: -3, Flags: command.ReadOnly | command.Fast, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runSMIsMember,
		Group: "set", Since: "6.2.0",
		Summary: "Tells of several members whether a set has them.", Complexity: "O(N) with N the number of members given",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string").Many()},
	},
	{
		Name: "smembers", Arity: 2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runSMembers,
		Group: "set", Since: "1.0.0",
		Summary: "Returns all members of a set.", Complexity: "O(N) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "smove", Arity: 4, Flags: command.Write | command.Fast, Cats: command.CatSet,
		Keys: command.TwoKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, command.KeyRW|command.KeyInsert), Run: runSMove,
		Group: "set", Since: "1.0.0",
		Summary: "Moves a member from one set to another.", Complexity: "O(1); logarithmic in large sets",
		Args: []arg.Arg{arg.Key("source", 1), arg.Key("destination", 2), arg.Of("member", "string")},
	},
	{
		Name: "spop", Arity: -2, Flags: command.Write | command.Fast, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runSPop, HeavyIf: command.HasCount,
		Group: "set", Since: "1.0.0",
		Summary: "Removes members that chance picks from a set and returns them.", Complexity: "O(N) with N the count; one from a large set is logarithmic",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer").AddedIn("3.2.0").Opt()},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "srandmember", Arity: -2, Flags: command.ReadOnly, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runSRandMember, HeavyIf: command.HasCount,
		Group: "set", Since: "1.0.0",
		Summary: "Returns members that chance picks from a set.", Complexity: "O(N) with N the absolute value of the count; one from a large set is logarithmic",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer").AddedIn("2.6.0").Opt()},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "sscan", Arity: -3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSet,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runSScan,
		Group: "set", Since: "2.8.0",
		Summary: "Walks over the members of a set in parts.", Complexity: "O(N) with N the count; O(M) for a whole walk over M members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("cursor", "integer"), arg.Match, arg.Count},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "sinter", Arity: -2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSet,
		Keys: command.AllKeys(command.KeyRO | command.KeyAccess), Run: runSInter,
		Group: "set", Since: "1.0.0",
		Summary: "Returns the members that several sets have in common.", Complexity: "O(N*M) with N the size of the smallest set and M the number of sets",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "sintercard", Arity: -3, Flags: command.ReadOnly | command.MovableKeys | command.Heavy, Cats: command.CatSet,
		Keys:  []command.KeySpec{command.CountedKeys(command.KeyRO|command.KeyAccess, 1)},
		Run:   runSInterCard,
		Group: "set", Since: "7.0.0",
		Summary: "Counts the members that several sets have in common.", Complexity: "O(N*M) with N the size of the smallest set and M the number of sets",
		Args: []arg.Arg{arg.NumKeys, arg.Key("key", 1).Many(), arg.Of("limit", "integer").After("LIMIT").Opt()},
	},
	{
		Name: "sinterstore", Arity: -3, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatSet,
		Keys: command.StoreKeys(command.KeyRW | command.KeyUpdate), Run: runSInterStore,
		Group: "set", Since: "1.0.0",
		Summary: "Stores the members that several sets have in common.", Complexity: "O(N*M) with N the size of the smallest set and M the number of sets",
		Args: []arg.Arg{arg.Key("destination", 1), arg.Key("key", 2).Many()},
	},
	{
		Name: "sunion", Arity: -2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSet,
		Keys: command.AllKeys(command.KeyRO | command.KeyAccess), Run: runSUnion,
		Group: "set", Since: "1.0.0",
		Summary: "Returns the members of several sets.", Complexity: "O(N) with N the number of members of all sets",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "sunionstore", Arity: -3, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatSet,
		Keys: command.StoreKeys(command.KeyOW | command.KeyUpdate), Run: runSUnionStore,
		Group: "set", Since: "1.0.0",
		Summary: "Stores the members of several sets.", Complexity: "O(N) with N the number of members of all sets",
		Args: []arg.Arg{arg.Key("destination", 1), arg.Key("key", 2).Many()},
	},
	{
		Name: "sdiff", Arity: -2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatSet,
		Keys: command.AllKeys(command.KeyRO | command.KeyAccess), Run: runSDiff,
		Group: "set", Since: "1.0.0",
		Summary: "Returns the members of a set that other sets do not have.", Complexity: "O(N) with N the number of members of all sets, or less",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "sdiffstore", Arity: -3, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatSet,
		Keys: command.StoreKeys(command.KeyOW | command.KeyUpdate), Run: runSDiffStore,
		Group: "set", Since: "1.0.0",
		Summary: "Stores the members of a set that other sets do not have.", Complexity: "O(N) with N the number of members of all sets, or less",
		Args: []arg.Arg{arg.Key("destination", 1), arg.Key("key", 2).Many()},
	},
}
