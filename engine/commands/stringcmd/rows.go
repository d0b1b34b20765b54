// Package stringcmd is the commands on strings: GET, SET, INCR, APPEND, LCS and their like.
//
// Rows has a row for each command, Codecs says how a string is stored in snapshots and dumps. A
// string has no structure of its own: it is the text of its entry (engine.Entry). The context
// itself reads and writes strings (Ctx.ReadString, Ctx.SetString), because bitmaps and HyperLogLogs
// are strings, too.
//
// INCRBYFLOAT computes in the 80 bits of x87 (command.Extended), so that it gives Redis's digits on
// every machine.
package stringcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// Rows are the commands on strings.
var Rows = []*command.Spec{
	{
		Name: "get", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGet,
		Group: "string", Since: "1.0.0",
		Summary: "Returns the string a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "set", Arity: -3, Flags: command.Write | command.DenyOOM, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate | command.KeyVariableFlags), KeyFlagsOf: flagsOfSet, Run: runSet,
		Group: "string", Since: "1.0.0",
		Summary: "Sets a key to a string, whatever it held before.", Complexity: "O(1)",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of("value", "string"),
			arg.OneOf("condition", arg.Token("nx", "NX"), arg.Token("xx", "XX")).AddedIn("2.6.12").Opt(),
			arg.Token("get", "GET").AddedIn("6.2.0").Opt(),
			arg.OneOf("expiration",
				arg.Of("seconds", "integer").After("EX").AddedIn("2.6.12"),
				arg.Of("milliseconds", "integer").After("PX").AddedIn("2.6.12"),
				arg.Of("unix-time-seconds", "unix-time").After("EXAT").AddedIn("6.2.0"),
				arg.Of("unix-time-milliseconds", "unix-time").After("PXAT").AddedIn("6.2.0"),
				arg.Token("keepttl", "KEEPTTL").AddedIn("6.0.0"),
			).Opt(),
		},
	},
	{
		Name: "getex", Arity: -2, Flags: command.Write | command.Fast, Cats: command.CatString,
		Keys:  []command.KeySpec{{Flags: command.KeyRW | command.KeyAccess | command.KeyUpdate, First: 1, Last: 1, Step: 1, ModeOf: getExMode}},
		Run:   runGetEx,
		Group: "string", Since: "6.2.0",
		Summary: "Returns the string a key holds and may change when the key expires.", Complexity: "O(1)",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.OneOf("expiration",
				arg.Of("seconds", "integer").After("EX"),
				arg.Of("milliseconds", "integer").After("PX"),
				arg.Of("unix-time-seconds", "unix-time").After("EXAT"),
				arg.Of("unix-time-milliseconds", "unix-time").After("PXAT"),
				arg.Token("persist", "PERSIST"),
			).Opt(),
		},
	},
	{
		Name: "getdel", Arity: 2, Flags: command.Write | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyDelete), Run: runGetDel,
		Group: "string", Since: "6.2.0",
		Summary: "Returns the string a key holds and deletes the key.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "delifeq", Arity: 3, Flags: command.Write, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRM | command.KeyAccess | command.KeyDelete), Run: runDelIfEq,
		Group: "string", Since: "9.0.0", Origin: "Valkey",
		Summary: "Deletes a key if it holds a given string; a command of Valkey's.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("value", "string")},
	},
	{
		Name: "getset", Arity: 3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runGetSet,
		Group: "string", Since: "1.0.0", DeprecatedSince: "6.2.0", ReplacedBy: "`SET` with the `!GET` argument",
		Summary: "Sets a key to a string and returns the one it held before.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("value", "string")},
	},
	{
		Name: "setnx", Arity: 3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyOW | command.KeyInsert), Run: runSetNX,
		Group: "string", Since: "1.0.0",
		Summary: "Sets a key to a string if the key does not exist.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("value", "string")},
	},
	{
		Name: "setex", Arity: 4, Flags: command.Write | command.DenyOOM, Cats: command.CatString,
		Keys: command.OneKey(command.KeyOW | command.KeyUpdate), Run: runSetEX,
		Group: "string", Since: "2.0.0",
		Summary: "Sets a key to a string that expires after a number of seconds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("seconds", "integer"), arg.Of("value", "string")},
	},
	{
		Name: "psetex", Arity: 4, Flags: command.Write | command.DenyOOM, Cats: command.CatString,
		Keys: command.OneKey(command.KeyOW | command.KeyUpdate), Run: runPSetEX,
		Group: "string", Since: "2.6.0",
		Summary: "Sets a key to a string that expires after a number of milliseconds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("milliseconds", "integer"), arg.Of("value", "string")},
	},
	{
		Name: "mget", Arity: -2, Flags: command.ReadOnly | command.Fast, Cats: command.CatString,
		Keys: command.AllKeys(command.KeyRO | command.KeyAccess), Run: runMGet,
		Group: "string", Since: "1.0.0",
		Summary: "Returns the strings that several keys hold.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
		Tips: []string{"request_policy:multi_shard"},
	},
	{
		Name: "mset", Arity: -3, Flags: command.Write | command.DenyOOM, Cats: command.CatString,
		Keys: []command.KeySpec{{Flags: command.KeyOW | command.KeyUpdate, First: 1, Last: -1, Step: 2}}, Run: runMSet,
		Group: "string", Since: "1.0.1",
		Summary: "Sets several keys at once.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Block("key_value", arg.Key("key", 1), arg.Of("value", "string")).Many()},
		Tips: []string{"request_policy:multi_shard", "response_policy:all_succeeded"},
	},
	{
		Name: "msetnx", Arity: -3, Flags: command.Write | command.DenyOOM, Cats: command.CatString,
		Keys: []command.KeySpec{{Flags: command.KeyOW | command.KeyInsert, First: 1, Last: -1, Step: 2}}, Run: runMSetNX,
		Group: "string", Since: "1.0.1",
		Summary: "Sets several keys at once if none of them exists.", Complexity: "O(N) with N the number of keys",
		Args: []arg.Arg{arg.Block("key_value", arg.Key("key", 1), arg.Of("value", "string")).Many()},
		Tips: []string{"request_policy:multi_shard", "response_policy:agg_min"},
	},
	{
		Name: "incr", Arity: 2, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runIncr,
		Group: "string", Since: "1.0.0",
		Summary: "Adds one to the integer a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "decr", Arity: 2, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runDecr,
		Group: "string", Since: "1.0.0",
		Summary: "Subtracts one from the integer a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "incrby", Arity: 3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runIncrBy,
		Group: "string", Since: "1.0.0",
		Summary: "Adds to the integer a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("increment", "integer")},
	},
	{
		Name: "decrby", Arity: 3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runDecrBy,
		Group: "string", Since: "1.0.0",
		Summary: "Subtracts from the integer a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("decrement", "integer")},
	},
	{
		Name: "incrbyfloat", Arity: 3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runIncrByFloat,
		Group: "string", Since: "2.6.0",
		Summary: "Adds to the decimal number a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("increment", "double")},
	},
	{
		Name: "append", Arity: 3, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runAppend, Grows: appendGrowth,
		Group: "string", Since: "2.0.0",
		Summary: "Adds text at the end of the string a key holds.", Complexity: "O(N) with N the length of the text, amortized",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("value", "string")},
	},
	{
		Name: "strlen", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRO), Run: runStrLen,
		Group: "string", Since: "2.2.0",
		Summary: "Returns the length of the string a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "setrange", Arity: 4, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runSetRange, Grows: setRangeGrowth,
		Group: "string", Since: "2.2.0",
		Summary: "Overwrites part of the string a key holds.", Complexity: "O(N) with N the length of the text, plus the zero bytes filled in",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("offset", "integer"), arg.Of("value", "string")},
	},
	{
		Name: "getrange", Arity: 4, Flags: command.ReadOnly, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGetRange,
		Group: "string", Since: "2.4.0",
		Summary: "Returns part of the string a key holds.", Complexity: "O(N) with N the length of the part",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("start", "integer"), arg.Of("end", "integer")},
	},
	{
		Name: "substr", Arity: 4, Flags: command.ReadOnly, Cats: command.CatString,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGetRange,
		Group: "string", Since: "1.0.0", DeprecatedSince: "2.0.0", ReplacedBy: "`GETRANGE`",
		Summary: "Returns part of the string a key holds.", Complexity: "O(N) with N the length of the part",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("start", "integer"), arg.Of("end", "integer")},
	},
	{
		Name: "lcs", Arity: -3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatString,
		Keys: []command.KeySpec{{Flags: command.KeyRO | command.KeyAccess, First: 1, Last: 2, Step: 1}}, Run: runLCS,
		Group: "string", Since: "7.0.0",
		Summary: "Finds the longest common subsequence of two strings.", Complexity: "O(N*M) with N and M the lengths of the strings",
		Args: []arg.Arg{
			arg.Key("key1", 1),
			arg.Key("key2", 1),
			arg.Token("len", "LEN").Opt(),
			arg.Token("idx", "IDX").Opt(),
			arg.Of("len", "integer").After("MINMATCHLEN").Opt(),
			arg.Token("withmatchlen", "WITHMATCHLEN").Opt(),
		},
	},
}
