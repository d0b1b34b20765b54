// Package listcmd is the commands on lists: LPUSH, LRANGE, BLPOP, LMOVE and their like.
//
// Rows has a row for each command, Codecs says how a list is stored in snapshots and dumps. The
// list itself is package list; this package finds it under a key, checks arguments and answers.
//
// A blocking command tries once and answers null if it finds nothing. The waiting happens at the
// shard's leader, outside the engine, so no handler ever waits.
package listcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// argListEnd is LEFT or RIGHT.
func argListEnd(name string) arg.Arg {
	return arg.OneOf(name, arg.Token("left", "LEFT"), arg.Token("right", "RIGHT"))
}

// Rows are the commands on lists.
var Rows = []*command.Spec{
	{
		Name: "lpush", Arity: -3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runLPush, Brings: command.BringsEach(1),
		Group: "list", Since: "1.0.0",
		Summary: "Adds elements at the beginning of a list, one after the other.", Complexity: "O(N) with N the number of elements added",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("element", "string").Many()},
	},
	{
		Name: "rpush", Arity: -3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runRPush, Brings: command.BringsEach(1),
		Group: "list", Since: "1.0.0",
		Summary: "Adds elements at the end of a list, one after the other.", Complexity: "O(N) with N the number of elements added",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("element", "string").Many()},
	},
	{
		Name: "lpushx", Arity: -3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runLPushX, Brings: command.BringsEach(1),
		Group: "list", Since: "2.2.0",
		Summary: "Adds elements at the beginning of a list if there is one.", Complexity: "O(N) with N the number of elements added",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("element", "string").Many()},
	},
	{
		Name: "rpushx", Arity: -3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runRPushX, Brings: command.BringsEach(1),
		Group: "list", Since: "2.2.0",
		Summary: "Adds elements at the end of a list if there is one.", Complexity: "O(N) with N the number of elements added",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("element", "string").Many()},
	},
	{
		Name: "linsert", Arity: 5, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runLInsert, Brings: command.BringsOne,
		Group: "list", Since: "2.2.0",
		Summary: "Adds an element before or behind another one.", Complexity: "O(N) with N the number of elements up to the other one",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.OneOf("where", arg.Token("before", "BEFORE"), arg.Token("after", "AFTER")),
			arg.Of("pivot", "string"),
			arg.Of("element", "string"),
		},
	},
	{
		Name: "llen", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRO), Run: runLLen,
		Group: "list", Since: "1.0.0",
		Summary: "Returns the number of elements of a list.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "lindex", Arity: 3, Flags: command.ReadOnly, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), BriefIf: command.BriefAlways, Run: runLIndex,
		Group: "list", Since: "1.0.0",
		Summary: "Returns the element at a place of a list.", Complexity: "O(log N) with N the length of the list",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("index", "integer")},
	},
	{
		Name: "lrange", Arity: 4, Flags: command.ReadOnly | command.Heavy, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), BriefIf: command.BriefPlaces, Run: runLRange,
		Group: "list", Since: "1.0.0",
		Summary: "Returns a range of elements of a list.", Complexity: "O(log N+M) with N the length of the list and M the number of elements returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("start", "integer"), arg.Of("stop", "integer")},
	},
	{
		Name: "lset", Arity: 4, Flags: command.Write | command.DenyOOM, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runLSet,
		Group: "list", Since: "1.0.0",
		Summary: "Replaces the element at a place of a list.", Complexity: "O(log N) with N the length of the list",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("index", "integer"), arg.Of("element", "string")},
	},
	{
		Name: "ltrim", Arity: 4, Flags: command.Write | command.Heavy, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runLTrim,
		Group: "list", Since: "1.0.0",
		Summary: "Removes all elements of a list outside a range.", Complexity: "O(N) with N the number of elements removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("start", "integer"), arg.Of("stop", "integer")},
	},
	{
		Name: "lrem", Arity: 4, Flags: command.Write | command.Heavy, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runLRem,
		Group: "list", Since: "1.0.0",
		Summary: "Removes elements of a value from a list.", Complexity: "O(N+M*log(N)) with N the length of the list and M the number of elements removed",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer"), arg.Of("element", "string")},
	},
	{
		Name: "lpos", Arity: -3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runLPos,
		Group: "list", Since: "6.0.6",
		Summary: "Returns the places of elements of a value.", Complexity: "O(N) with N the number of elements looked at",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of("element", "string"),
			arg.Of("rank", "integer").After("RANK").Opt(),
			arg.Of("num-matches", "integer").After("COUNT").Opt(),
			arg.Of("len", "integer").After("MAXLEN").Opt(),
		},
	},
	{
		Name: "lpop", Arity: -2, Flags: command.Write | command.Fast, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runLPop, HeavyIf: command.HasCount,
		Group: "list", Since: "1.0.0",
		Summary: "Takes elements off the beginning of a list.", Complexity: "O(N) with N the number of elements returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer").AddedIn("6.2.0").Opt()},
	},
	{
		Name: "rpop", Arity: -2, Flags: command.Write | command.Fast, Cats: command.CatList,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runRPop, HeavyIf: command.HasCount,
		Group: "list", Since: "1.0.0",
		Summary: "Takes elements off the end of a list.", Complexity: "O(N) with N the number of elements returned",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("count", "integer").AddedIn("6.2.0").Opt()},
	},
	{
		Name: "lmpop", Arity: -4, Flags: command.Write | command.MovableKeys, Cats: command.CatList,
		Keys: []command.KeySpec{command.CountedKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, 1)}, Run: runLMPop, HeavyIf: command.PopsCounted,
		Group: "list", Since: "7.0.0",
		Summary: "Takes elements off an end of the first of several lists that is there.", Complexity: "O(N+M) with N the number of keys and M the number of elements returned",
		Args: []arg.Arg{arg.NumKeys, arg.Key("key", 1).Many(), argListEnd("where"), arg.Count},
	},
	{
		Name: "lmove", Arity: 5, Flags: command.Write | command.DenyOOM, Cats: command.CatList,
		Keys: command.TwoKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, command.KeyRW|command.KeyInsert), Run: runLMove, Brings: command.BringsOne,
		Group: "list", Since: "6.2.0",
		Summary: "Takes an element off an end of a list, adds it at an end of another one and returns it.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("source", 1), arg.Key("destination", 2), argListEnd("wherefrom"), argListEnd("whereto")},
	},
	{
		Name: "rpoplpush", Arity: 3, Flags: command.Write | command.DenyOOM, Cats: command.CatList,
		Keys: command.TwoKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, command.KeyRW|command.KeyInsert), Run: runRPopLPush, Brings: command.BringsOne,
		Group: "list", Since: "1.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`LMOVE` with the `RIGHT` and `LEFT` arguments",
		Summary: "Takes the last element off a list, adds it at the beginning of another one and returns it.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("source", 1), arg.Key("destination", 2)},
	},
	{
		Name: "blpop", Arity: -3, Flags: command.Write | command.NoScript | command.Blocking, Cats: command.CatList,
		Keys: command.AllKeysButLast(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runBLPop, Waits: &command.Waiting{Kind: engine.KindList, TimeoutMs: command.TimeoutAtEnd},
		Group: "list", Since: "2.0.0",
		Summary: "Takes the first element off the first of several lists that is there, and waits for one if need be.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Key("key", 1).Many(), arg.Of("timeout", "double")},
	},
	{
		Name: "brpop", Arity: -3, Flags: command.Write | command.NoScript | command.Blocking, Cats: command.CatList,
		Keys: command.AllKeysButLast(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runBRPop, Waits: &command.Waiting{Kind: engine.KindList, TimeoutMs: command.TimeoutAtEnd},
		Group: "list", Since: "2.0.0",
		Summary: "Takes the last element off the first of several lists that is there, and waits for one if need be.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Key("key", 1).Many(), arg.Of("timeout", "double")},
	},
	{
		Name: "blmpop", Arity: -5, Flags: command.Write | command.Blocking | command.MovableKeys, Cats: command.CatList,
		Keys: []command.KeySpec{command.CountedKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, 2)}, Run: runBLMPop, Waits: &command.Waiting{Kind: engine.KindList, TimeoutMs: command.TimeoutOfPop(command.ListEnds)}, HeavyIf: command.PopsCounted,
		Group: "list", Since: "7.0.0",
		Summary: "Takes elements off an end of the first of several lists that is there, and waits for one if need be.", Complexity: "O(N+M) with N the number of keys and M the number of elements returned",
		Args: []arg.Arg{arg.Of("timeout", "double"), arg.NumKeys, arg.Key("key", 1).Many(), argListEnd("where"), arg.Count},
	},
	{
		Name: "blmove", Arity: 6, Flags: command.Write | command.DenyOOM | command.NoScript | command.Blocking, Cats: command.CatList,
		Keys: command.TwoKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, command.KeyRW|command.KeyInsert), Run: runBLMove, Brings: command.BringsOne, Waits: &command.Waiting{Kind: engine.KindList, TimeoutMs: command.TimeoutAtEnd},
		Group: "list", Since: "6.2.0",
		Summary: "Takes an element off an end of a list, adds it at an end of another one and returns it; waits for one if need be.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("source", 1), arg.Key("destination", 2), argListEnd("wherefrom"), argListEnd("whereto"), arg.Of("timeout", "double")},
	},
	{
		Name: "brpoplpush", Arity: 4, Flags: command.Write | command.DenyOOM | command.NoScript | command.Blocking, Cats: command.CatList,
		Keys: command.TwoKeys(command.KeyRW|command.KeyAccess|command.KeyDelete, command.KeyRW|command.KeyInsert), Run: runBRPopLPush, Brings: command.BringsOne, Waits: &command.Waiting{Kind: engine.KindList, TimeoutMs: command.TimeoutAtEnd},
		Group: "list", Since: "2.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`BLMOVE` with the `RIGHT` and `LEFT` arguments",
		Summary: "Takes the last element off a list, adds it at the beginning of another one and returns it; waits for one if need be.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("source", 1), arg.Key("destination", 2), arg.Of("timeout", "double")},
	},
}
