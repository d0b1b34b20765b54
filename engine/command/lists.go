package command

import "lockstep/engine"

// argListEnd is LEFT or RIGHT.
func argListEnd(name string) Arg {
	return argOneOf(name, argToken("left", "LEFT"), argToken("right", "RIGHT"))
}

// listFamily are the commands on lists. Handlers stand in lists_*.go.
var listFamily = []*Spec{
	{
		Name: "lpush", Arity: -3, Flags: Write | DenyOOM | Fast, Cats: CatList,
		Keys: oneKey(KeyRW | KeyInsert), Run: runLPush, Brings: eachBehindKey(1),
		Group: "list", Since: "1.0.0",
		Summary: "Adds elements at the beginning of a list, one after the other.", Complexity: "O(N) with N the number of elements added",
		Args: []Arg{argKey("key", 1), arg("element", "string").multiple()},
	},
	{
		Name: "rpush", Arity: -3, Flags: Write | DenyOOM | Fast, Cats: CatList,
		Keys: oneKey(KeyRW | KeyInsert), Run: runRPush, Brings: eachBehindKey(1),
		Group: "list", Since: "1.0.0",
		Summary: "Adds elements at the end of a list, one after the other.", Complexity: "O(N) with N the number of elements added",
		Args: []Arg{argKey("key", 1), arg("element", "string").multiple()},
	},
	{
		Name: "lpushx", Arity: -3, Flags: Write | DenyOOM | Fast, Cats: CatList,
		Keys: oneKey(KeyRW | KeyInsert), Run: runLPushX, Brings: eachBehindKey(1),
		Group: "list", Since: "2.2.0",
		Summary: "Adds elements at the beginning of a list if there is one.", Complexity: "O(N) with N the number of elements added",
		Args: []Arg{argKey("key", 1), arg("element", "string").multiple()},
	},
	{
		Name: "rpushx", Arity: -3, Flags: Write | DenyOOM | Fast, Cats: CatList,
		Keys: oneKey(KeyRW | KeyInsert), Run: runRPushX, Brings: eachBehindKey(1),
		Group: "list", Since: "2.2.0",
		Summary: "Adds elements at the end of a list if there is one.", Complexity: "O(N) with N the number of elements added",
		Args: []Arg{argKey("key", 1), arg("element", "string").multiple()},
	},
	{
		Name: "linsert", Arity: 5, Flags: Write | DenyOOM | Heavy, Cats: CatList,
		Keys: oneKey(KeyRW | KeyInsert), Run: runLInsert, Brings: one,
		Group: "list", Since: "2.2.0",
		Summary: "Adds an element before or behind another one.", Complexity: "O(N) with N the number of elements up to the other one",
		Args: []Arg{
			argKey("key", 1),
			argOneOf("where", argToken("before", "BEFORE"), argToken("after", "AFTER")),
			arg("pivot", "string"),
			arg("element", "string"),
		},
	},
	{
		Name: "llen", Arity: 2, Flags: ReadOnly | Fast, Cats: CatList,
		Keys: oneKey(KeyRO), Run: runLLen,
		Group: "list", Since: "1.0.0",
		Summary: "Returns the number of elements of a list.", Complexity: "O(1)",
		Args: []Arg{argKey("key", 1)},
	},
	{
		Name: "lindex", Arity: 3, Flags: ReadOnly, Cats: CatList,
		Keys: oneKey(KeyRO | KeyAccess), BriefIf: briefAlways, Run: runLIndex,
		Group: "list", Since: "1.0.0",
		Summary: "Returns the element at a place of a list.", Complexity: "O(log N) with N the length of the list",
		Args: []Arg{argKey("key", 1), arg("index", "integer")},
	},
	{
		Name: "lrange", Arity: 4, Flags: ReadOnly | Heavy, Cats: CatList,
		Keys: oneKey(KeyRO | KeyAccess), BriefIf: briefPlaces, Run: runLRange,
		Group: "list", Since: "1.0.0",
		Summary: "Returns a range of elements of a list.", Complexity: "O(log N+M) with N the length of the list and M the number of elements returned",
		Args: []Arg{argKey("key", 1), arg("start", "integer"), arg("stop", "integer")},
	},
	{
		Name: "lset", Arity: 4, Flags: Write | DenyOOM, Cats: CatList,
		Keys: oneKey(KeyRW | KeyUpdate), Run: runLSet,
		Group: "list", Since: "1.0.0",
		Summary: "Replaces the element at a place of a list.", Complexity: "O(log N) with N the length of the list",
		Args: []Arg{argKey("key", 1), arg("index", "integer"), arg("element", "string")},
	},
	{
		Name: "ltrim", Arity: 4, Flags: Write | Heavy, Cats: CatList,
		Keys: oneKey(KeyRW | KeyDelete), Run: runLTrim,
		Group: "list", Since: "1.0.0",
		Summary: "Removes all elements of a list outside a range.", Complexity: "O(N) with N the number of elements removed",
		Args: []Arg{argKey("key", 1), arg("start", "integer"), arg("stop", "integer")},
	},
	{
		Name: "lrem", Arity: 4, Flags: Write | Heavy, Cats: CatList,
		Keys: oneKey(KeyRW | KeyDelete), Run: runLRem,
		Group: "list", Since: "1.0.0",
		Summary: "Removes elements of a value from a list.", Complexity: "O(N+M*log(N)) with N the length of the list and M the number of elements removed",
		Args: []Arg{argKey("key", 1), arg("count", "integer"), arg("element", "string")},
	},
	{
		Name: "lpos", Arity: -3, Flags: ReadOnly | Heavy, Cats: CatList,
		Keys: oneKey(KeyRO | KeyAccess), Run: runLPos,
		Group: "list", Since: "6.0.6",
		Summary: "Returns the places of elements of a value.", Complexity: "O(N) with N the number of elements looked at",
		Args: []Arg{
			argKey("key", 1),
			arg("element", "string"),
			arg("rank", "integer").token("RANK").optional(),
			arg("num-matches", "integer").token("COUNT").optional(),
			arg("len", "integer").token("MAXLEN").optional(),
		},
	},
	{
		Name: "lpop", Arity: -2, Flags: Write | Fast, Cats: CatList,
		Keys: oneKey(KeyRW | KeyAccess | KeyDelete), Run: runLPop, HeavyIf: hasCount,
		Group: "list", Since: "1.0.0",
		Summary: "Takes elements off the beginning of a list.", Complexity: "O(N) with N the number of elements returned",
		Args: []Arg{argKey("key", 1), arg("count", "integer").since("6.2.0").optional()},
	},
	{
		Name: "rpop", Arity: -2, Flags: Write | Fast, Cats: CatList,
		Keys: oneKey(KeyRW | KeyAccess | KeyDelete), Run: runRPop, HeavyIf: hasCount,
		Group: "list", Since: "1.0.0",
		Summary: "Takes elements off the end of a list.", Complexity: "O(N) with N the number of elements returned",
		Args: []Arg{argKey("key", 1), arg("count", "integer").since("6.2.0").optional()},
	},
	{
		Name: "lmpop", Arity: -4, Flags: Write | MovableKeys, Cats: CatList,
		Keys: []KeySpec{countedKeys(KeyRW|KeyAccess|KeyDelete, 1)}, Run: runLMPop, HeavyIf: popsCounted,
		Group: "list", Since: "7.0.0",
		Summary: "Takes elements off an end of the first of several lists that is there.", Complexity: "O(N+M) with N the number of keys and M the number of elements returned",
		Args: []Arg{argNumKeys, argKey("key", 1).multiple(), argListEnd("where"), argCount},
	},
	{
		Name: "lmove", Arity: 5, Flags: Write | DenyOOM, Cats: CatList,
		Keys: twoKeys(KeyRW|KeyAccess|KeyDelete, KeyRW|KeyInsert), Run: runLMove, Brings: one,
		Group: "list", Since: "6.2.0",
		Summary: "Takes an element off an end of a list, adds it at an end of another one and returns it.", Complexity: "O(1)",
		Args: []Arg{argKey("source", 1), argKey("destination", 2), argListEnd("wherefrom"), argListEnd("whereto")},
	},
	{
		Name: "rpoplpush", Arity: 3, Flags: Write | DenyOOM, Cats: CatList,
		Keys: twoKeys(KeyRW|KeyAccess|KeyDelete, KeyRW|KeyInsert), Run: runRPopLPush, Brings: one,
		Group: "list", Since: "1.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`LMOVE` with the `RIGHT` and `LEFT` arguments",
		Summary: "Takes the last element off a list, adds it at the beginning of another one and returns it.", Complexity: "O(1)",
		Args: []Arg{argKey("source", 1), argKey("destination", 2)},
	},
	{
		Name: "blpop", Arity: -3, Flags: Write | NoScript | Blocking, Cats: CatList,
		Keys: allKeysButLast(KeyRW | KeyAccess | KeyDelete), Run: runBLPop, Waits: &Waiting{Kind: engine.KindList, TimeoutMs: timeoutAtEnd},
		Group: "list", Since: "2.0.0",
		Summary: "Takes the first element off the first of several lists that is there, and waits for one if need be.", Complexity: "O(N) with N the number of keys",
		Args: []Arg{argKey("key", 1).multiple(), arg("timeout", "double")},
	},
	{
		Name: "brpop", Arity: -3, Flags: Write | NoScript | Blocking, Cats: CatList,
		Keys: allKeysButLast(KeyRW | KeyAccess | KeyDelete), Run: runBRPop, Waits: &Waiting{Kind: engine.KindList, TimeoutMs: timeoutAtEnd},
		Group: "list", Since: "2.0.0",
		Summary: "Takes the last element off the first of several lists that is there, and waits for one if need be.", Complexity: "O(N) with N the number of keys",
		Args: []Arg{argKey("key", 1).multiple(), arg("timeout", "double")},
	},
	{
		Name: "blmpop", Arity: -5, Flags: Write | Blocking | MovableKeys, Cats: CatList,
		Keys: []KeySpec{countedKeys(KeyRW|KeyAccess|KeyDelete, 2)}, Run: runBLMPop, Waits: &Waiting{Kind: engine.KindList, TimeoutMs: timeoutOfPop(listEnds)}, HeavyIf: popsCounted,
		Group: "list", Since: "7.0.0",
		Summary: "Takes elements off an end of the first of several lists that is there, and waits for one if need be.", Complexity: "O(N+M) with N the number of keys and M the number of elements returned",
		Args: []Arg{arg("timeout", "double"), argNumKeys, argKey("key", 1).multiple(), argListEnd("where"), argCount},
	},
	{
		Name: "blmove", Arity: 6, Flags: Write | DenyOOM | NoScript | Blocking, Cats: CatList,
		Keys: twoKeys(KeyRW|KeyAccess|KeyDelete, KeyRW|KeyInsert), Run: runBLMove, Brings: one, Waits: &Waiting{Kind: engine.KindList, TimeoutMs: timeoutAtEnd},
		Group: "list", Since: "6.2.0",
		Summary: "Takes an element off an end of a list, adds it at an end of another one and returns it; waits for one if need be.", Complexity: "O(1)",
		Args: []Arg{argKey("source", 1), argKey("destination", 2), argListEnd("wherefrom"), argListEnd("whereto"), arg("timeout", "double")},
	},
	{
		Name: "brpoplpush", Arity: 4, Flags: Write | DenyOOM | NoScript | Blocking, Cats: CatList,
		Keys: twoKeys(KeyRW|KeyAccess|KeyDelete, KeyRW|KeyInsert), Run: runBRPopLPush, Brings: one, Waits: &Waiting{Kind: engine.KindList, TimeoutMs: timeoutAtEnd},
		Group: "list", Since: "2.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`BLMOVE` with the `RIGHT` and `LEFT` arguments",
		Summary: "Takes the last element off a list, adds it at the beginning of another one and returns it; waits for one if need be.", Complexity: "O(1)",
		Args: []Arg{argKey("source", 1), argKey("destination", 2), arg("timeout", "double")},
	},
}
