// Package hashcmd is the commands on hashes, and on the expiry of their fields: HSET, HGETALL,
// HEXPIRE, HGETEX and their like.
//
// Rows and FieldExpiryRows have a row for each command, Codecs says how a hash is stored in
// snapshots and dumps. The hash itself is package hash.
//
// A field that has expired stays in the hash until it is removed by a command that changes the
// hash, or by an entry of the leader. So a handler looks up fields with LiveField and counts them
// with LenAt, never with Len alone: a read may hold the key shared, and cannot delete.
package hashcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// Rows are the commands on hashes.
var Rows = []*command.Spec{
	{
		Name: "hset", Arity: -4, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runHSet,
		Group: "hash", Since: "2.0.0",
		Summary: "Sets fields of a hash and returns how many of them are new.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1), arg.Block("field_value", arg.Of("field", "string"), arg.Of("value", "string")).Many()},
	},
	{
		Name: "hsetnx", Arity: 4, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runHSetNX,
		Group: "hash", Since: "2.0.0",
		Summary: "Sets a field of a hash if there is no such field.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string"), arg.Of("value", "string")},
	},
	{
		Name: "hmset", Arity: -4, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runHMSet,
		Group: "hash", Since: "2.0.0", DeprecatedSince: "4.0.0", ReplacedBy: "`HSET` with multiple field-value pairs",
		Summary: "Sets fields of a hash.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1), arg.Block("field_value", arg.Of("field", "string"), arg.Of("value", "string")).Many()},
	},
	{
		Name: "hget", Arity: 3, Flags: command.ReadOnly | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runHGet,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns the value of a field of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string")},
	},
	{
		Name: "hmget", Arity: -3, Flags: command.ReadOnly | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runHMGet,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns the values of fields of a hash.", Complexity: "O(N) with N the number of fields asked for",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string").Many()},
	},
	{
		Name: "hgetall", Arity: 2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runHGetAll,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns all fields of a hash with their values.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "hkeys", Arity: 2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runHKeys,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns all fields of a hash.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "hvals", Arity: 2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runHVals,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns the values of all fields of a hash.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "hlen", Arity: 2, Flags: command.ReadOnly | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO), Run: runHLen,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns the number of fields of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "hstrlen", Arity: 3, Flags: command.ReadOnly | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO), Run: runHStrLen,
		Group: "hash", Since: "3.2.0",
		Summary: "Returns the length of the value of a field of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string")},
	},
	{
		Name: "hexists", Arity: 3, Flags: command.ReadOnly | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO), Run: runHExists,
		Group: "hash", Since: "2.0.0",
		Summary: "Tells whether a hash has a field.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string")},
	},
	{
		Name: "hdel", Arity: -3, Flags: command.Write | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyDelete), Run: runHDel,
		Group: "hash", Since: "2.0.0",
		Summary: "Deletes fields of a hash, and the key with the last of them.", Complexity: "O(N) with N the number of fields to delete",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string").Many()},
	},
	{
		Name: "hincrby", Arity: 4, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runHIncrBy,
		Group: "hash", Since: "2.0.0",
		Summary: "Adds to the integer in a field of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string"), arg.Of("increment", "integer")},
	},
	{
		Name: "hincrbyfloat", Arity: 4, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runHIncrByFloat,
		Group: "hash", Since: "2.6.0",
		Summary: "Adds to the decimal number in a field of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string"), arg.Of("increment", "double")},
	},
	{
		Name: "hrandfield", Arity: -2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runHRandField,
		Group: "hash", Since: "6.2.0",
		Summary: "Returns random fields of a hash.", Complexity: "O(N) with N the number of fields returned",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Block("options", arg.Of("count", "integer"), arg.Token("withvalues", "WITHVALUES").Opt()).Opt(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "hscan", Arity: -3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatHash,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runHScan,
		Group: "hash", Since: "2.8.0",
		Summary: "Walks through the fields of a hash, some at a time.", Complexity: "O(1) for a call, O(N) for the whole walk",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("cursor", "integer"), arg.Match, arg.Count, arg.Token("novalues", "NOVALUES").AddedIn("7.4.0").Opt()},
		Tips: []string{"nondeterministic_output"},
	},
}
