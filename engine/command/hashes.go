package command

import (
	"lockstep/engine/command/arg"
)

// HashFamily are the commands on hashes. Handlers stand in hashes_*.go.
var HashFamily = []*Spec{
	{
		Name: "hset", Arity: -4, Flags: Write | DenyOOM | Fast, Cats: CatHash,
		Keys: OneKey(KeyRW | KeyUpdate), Run: runHSet,
		Group: "hash", Since: "2.0.0",
		Summary: "Sets fields of a hash and returns how many of them are new.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1), arg.Block("field_value", arg.Of("field", "string"), arg.Of("value", "string")).Many()},
	},
	{
		Name: "hsetnx", Arity: 4, Flags: Write | DenyOOM | Fast, Cats: CatHash,
		Keys: OneKey(KeyRW | KeyInsert), Run: runHSetNX,
		Group: "hash", Since: "2.0.0",
		Summary: "Sets a field of a hash if there is no such field.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string"), arg.Of("value", "string")},
	},
	{
		Name: "hmset", Arity: -4, Flags: Write | DenyOOM | Fast, Cats: CatHash,
		Keys: OneKey(KeyRW | KeyUpdate), Run: runHMSet,
		Group: "hash", Since: "2.0.0", DeprecatedSince: "4.0.0", ReplacedBy: "`HSET` with multiple field-value pairs",
		Summary: "Sets fields of a hash.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1), arg.Block("field_value", arg.Of("field", "string"), arg.Of("value", "string")).Many()},
	},
	{
		Name: "hget", Arity: 3, Flags: ReadOnly | Fast, Cats: CatHash,
		Keys: OneKey(KeyRO | KeyAccess), Run: runHGet,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns the value of a field of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string")},
	},
	{
		Name: "hmget", Arity: -3, Flags: ReadOnly | Fast, Cats: CatHash,
		Keys: OneKey(KeyRO | KeyAccess), Run: runHMGet,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns the values of fields of a hash.", Complexity: "O(N) with N the number of fields asked for",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string").Many()},
	},
	{
		Name: "hgetall", Arity: 2, Flags: ReadOnly | Heavy, Cats: CatHash,
		Keys: OneKey(KeyRO | KeyAccess), Run: runHGetAll,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns all fields of a hash with their values.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "hkeys", Arity: 2, Flags: ReadOnly | Heavy, Cats: CatHash,
		Keys: OneKey(KeyRO | KeyAccess), Run: runHKeys,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns all fields of a hash.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "hvals", Arity: 2, Flags: ReadOnly | Heavy, Cats: CatHash,
		Keys: OneKey(KeyRO | KeyAccess), Run: runHVals,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns the values of all fields of a hash.", Complexity: "O(N) with N the number of fields",
		Args: []arg.Arg{arg.Key("key", 1)},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "hlen", Arity: 2, Flags: ReadOnly | Fast, Cats: CatHash,
		Keys: OneKey(KeyRO), Run: runHLen,
		Group: "hash", Since: "2.0.0",
		Summary: "Returns the number of fields of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1)},
	},
	{
		Name: "hstrlen", Arity: 3, Flags: ReadOnly | Fast, Cats: CatHash,
		Keys: OneKey(KeyRO), Run: runHStrLen,
		Group: "hash", Since: "3.2.0",
		Summary: "Returns the length of the value of a field of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string")},
	},
	{
		Name: "hexists", Arity: 3, Flags: ReadOnly | Fast, Cats: CatHash,
		Keys: OneKey(KeyRO), Run: runHExists,
		Group: "hash", Since: "2.0.0",
		Summary: "Tells whether a hash has a field.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string")},
	},
	{
		Name: "hdel", Arity: -3, Flags: Write | Fast, Cats: CatHash,
		Keys: OneKey(KeyRW | KeyDelete), Run: runHDel,
		Group: "hash", Since: "2.0.0",
		Summary: "Deletes fields of a hash, and the key with the last of them.", Complexity: "O(N) with N the number of fields to delete",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string").Many()},
	},
	{
		Name: "hincrby", Arity: 4, Flags: Write | DenyOOM | Fast, Cats: CatHash,
		Keys: OneKey(KeyRW | KeyAccess | KeyUpdate), Run: runHIncrBy,
		Group: "hash", Since: "2.0.0",
		Summary: "Adds to the integer in a field of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string"), arg.Of("increment", "integer")},
	},
	{
		Name: "hincrbyfloat", Arity: 4, Flags: Write | DenyOOM | Fast, Cats: CatHash,
		Keys: OneKey(KeyRW | KeyAccess | KeyUpdate), Run: runHIncrByFloat,
		Group: "hash", Since: "2.6.0",
		Summary: "Adds to the decimal number in a field of a hash.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("field", "string"), arg.Of("increment", "double")},
	},
	{
		Name: "hrandfield", Arity: -2, Flags: ReadOnly | Heavy, Cats: CatHash,
		Keys: OneKey(KeyRO | KeyAccess), Run: runHRandField,
		Group: "hash", Since: "6.2.0",
		Summary: "Returns random fields of a hash.", Complexity: "O(N) with N the number of fields returned",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Block("options", arg.Of("count", "integer"), arg.Token("withvalues", "WITHVALUES").Opt()).Opt(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "hscan", Arity: -3, Flags: ReadOnly | Heavy, Cats: CatHash,
		Keys: OneKey(KeyRO | KeyAccess), Run: runHScan,
		Group: "hash", Since: "2.8.0",
		Summary: "Walks through the fields of a hash, some at a time.", Complexity: "O(1) for a call, O(N) for the whole walk",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("cursor", "integer"), arg.Match, arg.Count, arg.Token("novalues", "NOVALUES").AddedIn("7.4.0").Opt()},
		Tips: []string{"nondeterministic_output"},
	},
}
