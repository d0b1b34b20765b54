package command

// storeKeys is the key spec of commands that store what they make of several
// keys: the destination comes first.
func storeKeys(flags KeyFlag) []KeySpec {
	return []KeySpec{
		{Flags: flags, First: 1, Last: 1, Step: 1},
		{Flags: KeyRO | KeyAccess, First: 2, Last: -1, Step: 1},
	}
}

// setFamily are the commands on sets. Handlers stand in sets_*.go.
var setFamily = []*Spec{
	{
		Name: "sadd", Arity: -3, Flags: Write | DenyOOM | Fast, Cats: CatSet,
		Keys: oneKey(KeyRW | KeyInsert), Run: runSAdd,
		Group: "set", Since: "1.0.0",
		Summary: "Adds members to a set.", Complexity: "O(N) with N the number of members given; one to a large set is logarithmic",
		Args: []Arg{argKey("key", 1), arg("member", "string").multiple()},
	},
	{
		Name: "srem", Arity: -3, Flags: Write | Fast, Cats: CatSet,
		Keys: oneKey(KeyRW | KeyDelete), Run: runSRem,
		Group: "set", Since: "1.0.0",
		Summary: "Removes members from a set.", Complexity: "O(N) with N the number of members given; one from a large set is logarithmic",
		Args: []Arg{argKey("key", 1), arg("member", "string").multiple()},
	},
	{
		Name: "scard", Arity: 2, Flags: ReadOnly | Fast, Cats: CatSet,
		Keys: oneKey(KeyRO), Run: runSCard,
		Group: "set", Since: "1.0.0",
		Summary: "Returns the number of members of a set.", Complexity: "O(1)",
		Args: []Arg{argKey("key", 1)},
	},
	{
		Name: "sismember", Arity: 3, Flags: ReadOnly | Fast, Cats: CatSet,
		Keys: oneKey(KeyRO), Run: runSIsMember,
		Group: "set", Since: "1.0.0",
		Summary: "Tells whether a set has a member.", Complexity: "O(1); logarithmic in a large set",
		Args: []Arg{argKey("key", 1), arg("member", "string")},
	},
	{
		Name: "smismember", Arity: -3, Flags: ReadOnly | Fast, Cats: CatSet,
		Keys: oneKey(KeyRO | KeyAccess), Run: runSMIsMember,
		Group: "set", Since: "6.2.0",
		Summary: "Tells of several members whether a set has them.", Complexity: "O(N) with N the number of members given",
		Args: []Arg{argKey("key", 1), arg("member", "string").multiple()},
	},
	{
		Name: "smembers", Arity: 2, Flags: ReadOnly | Heavy, Cats: CatSet,
		Keys: oneKey(KeyRO | KeyAccess), Run: runSMembers,
		Group: "set", Since: "1.0.0",
		Summary: "Returns all members of a set.", Complexity: "O(N) with N the number of members",
		Args: []Arg{argKey("key", 1)},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "smove", Arity: 4, Flags: Write | Fast, Cats: CatSet,
		Keys: []KeySpec{
			{Flags: KeyRW | KeyAccess | KeyDelete, First: 1, Last: 1, Step: 1},
			{Flags: KeyRW | KeyInsert, First: 2, Last: 2, Step: 1},
		},
		Run:   runSMove,
		Group: "set", Since: "1.0.0",
		Summary: "Moves a member from one set to another.", Complexity: "O(1); logarithmic in large sets",
		Args: []Arg{argKey("source", 1), argKey("destination", 2), arg("member", "string")},
	},
	{
		Name: "spop", Arity: -2, Flags: Write | Fast, Cats: CatSet,
		Keys: oneKey(KeyRW | KeyAccess | KeyDelete), Run: runSPop, HeavyIf: hasCount,
		Group: "set", Since: "1.0.0",
		Summary: "Removes members that chance picks from a set and returns them.", Complexity: "O(N) with N the count; one from a large set is logarithmic",
		Args: []Arg{argKey("key", 1), arg("count", "integer").since("3.2.0").optional()},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "srandmember", Arity: -2, Flags: ReadOnly, Cats: CatSet,
		Keys: oneKey(KeyRO | KeyAccess), Run: runSRandMember, HeavyIf: hasCount,
		Group: "set", Since: "1.0.0",
		Summary: "Returns members that chance picks from a set.", Complexity: "O(N) with N the absolute value of the count; one from a large set is logarithmic",
		Args: []Arg{argKey("key", 1), arg("count", "integer").since("2.6.0").optional()},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "sscan", Arity: -3, Flags: ReadOnly | Heavy, Cats: CatSet,
		Keys: oneKey(KeyRO | KeyAccess), Run: runSScan,
		Group: "set", Since: "2.8.0",
		Summary: "Walks over the members of a set in parts.", Complexity: "O(N) with N the count; O(M) for a whole walk over M members",
		Args: []Arg{
			argKey("key", 1),
			arg("cursor", "integer"),
			arg("pattern", "pattern").token("MATCH").optional(),
			arg("count", "integer").token("COUNT").optional(),
		},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "sinter", Arity: -2, Flags: ReadOnly | Heavy, Cats: CatSet,
		Keys: allKeys(KeyRO | KeyAccess), Run: runSInter,
		Group: "set", Since: "1.0.0",
		Summary: "Returns the members that several sets have in common.", Complexity: "O(N*M) with N the size of the smallest set and M the number of sets",
		Args: []Arg{argKey("key", 1).multiple()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "sintercard", Arity: -3, Flags: ReadOnly | MovableKeys | Heavy, Cats: CatSet,
		Keys:  []KeySpec{countedKeys(KeyRO|KeyAccess, 1)},
		Run:   runSInterCard,
		Group: "set", Since: "7.0.0",
		Summary: "Counts the members that several sets have in common.", Complexity: "O(N*M) with N the size of the smallest set and M the number of sets",
		Args: []Arg{
			arg("numkeys", "integer"),
			argKey("key", 1).multiple(),
			arg("limit", "integer").token("LIMIT").optional(),
		},
	},
	{
		Name: "sinterstore", Arity: -3, Flags: Write | DenyOOM | Heavy, Cats: CatSet,
		Keys: storeKeys(KeyRW | KeyUpdate), Run: runSInterStore,
		Group: "set", Since: "1.0.0",
		Summary: "Stores the members that several sets have in common.", Complexity: "O(N*M) with N the size of the smallest set and M the number of sets",
		Args: []Arg{argKey("destination", 1), argKey("key", 2).multiple()},
	},
	{
		Name: "sunion", Arity: -2, Flags: ReadOnly | Heavy, Cats: CatSet,
		Keys: allKeys(KeyRO | KeyAccess), Run: runSUnion,
		Group: "set", Since: "1.0.0",
		Summary: "Returns the members of several sets.", Complexity: "O(N) with N the number of members of all sets",
		Args: []Arg{argKey("key", 1).multiple()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "sunionstore", Arity: -3, Flags: Write | DenyOOM | Heavy, Cats: CatSet,
		Keys: storeKeys(KeyOW | KeyUpdate), Run: runSUnionStore,
		Group: "set", Since: "1.0.0",
		Summary: "Stores the members of several sets.", Complexity: "O(N) with N the number of members of all sets",
		Args: []Arg{argKey("destination", 1), argKey("key", 2).multiple()},
	},
	{
		Name: "sdiff", Arity: -2, Flags: ReadOnly | Heavy, Cats: CatSet,
		Keys: allKeys(KeyRO | KeyAccess), Run: runSDiff,
		Group: "set", Since: "1.0.0",
		Summary: "Returns the members of a set that other sets do not have.", Complexity: "O(N) with N the number of members of all sets, or less",
		Args: []Arg{argKey("key", 1).multiple()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "sdiffstore", Arity: -3, Flags: Write | DenyOOM | Heavy, Cats: CatSet,
		Keys: storeKeys(KeyOW | KeyUpdate), Run: runSDiffStore,
		Group: "set", Since: "1.0.0",
		Summary: "Stores the members of a set that other sets do not have.", Complexity: "O(N) with N the number of members of all sets, or less",
		Args: []Arg{argKey("destination", 1), argKey("key", 2).multiple()},
	},
}

// hasCount tells whether a command that picks one element has the argument
// that makes it pick several.
func hasCount(args [][]byte) bool { return len(args) > 2 }
