package command

// functionFamily runs and keeps functions.
var functionFamily = []*Spec{
	programRow("fcall", "function", "7.0.0", "Calls a function.", fcallPlan(false), fcallLogged, false),
	programRow("fcall_ro", "function", "7.0.0", "Calls a function that only reads.", fcallPlan(true), neverLogged, true),
	{
		Name: "function", Arity: -2, Scope: ScopeNode,
		Group: "scripting", Since: "7.0.0",
		Summary: "A container for commands about functions.", Complexity: "Depends on subcommand.",
		Sub: functionSubcommands,
	},
}

var functionChangeTips = []string{"request_policy:all_shards", "response_policy:all_succeeded"}

var functionSubcommands = []*Spec{
	{
		Name: "function|delete", Arity: 3, Scope: ScopeGlobal, Merge: MergeSame, Flags: Write | NoScript, Cats: CatScripting,
		Plan: functionChange(functionDelete), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Deletes a library and its functions.", Complexity: "O(1)",
		Args: []Arg{arg("library-name", "string")},
		Tips: functionChangeTips,
	},
	{
		Name: "function|dump", Arity: 2, Scope: ScopeScan, Merge: MergeSame, Flags: NoScript, Cats: CatScripting,
		Plan: functionLook(functionDump), Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Returns all libraries as a payload for FUNCTION RESTORE.", Complexity: "O(N) where N is the number of functions",
	},
	{
		Name: "function|flush", Arity: -2, Scope: ScopeGlobal, Merge: MergeSame, Flags: Write | NoScript, Cats: CatScripting,
		Plan: functionChange(functionFlush), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Deletes all libraries.", Complexity: "O(N) where N is the number of functions deleted",
		Args: []Arg{argOneOf("async", argToken("async", "ASYNC"), argToken("sync", "SYNC")).optional()},
		Tips: functionChangeTips,
	},
	helpRow("function", "scripting", "7.0.0", CatScripting),
	{
		Name: "function|kill", Arity: 2, Scope: ScopeScan, Merge: MergeAny, Flags: NoScript | AllowBusy, Cats: CatScripting,
		Plan: functionWatch(functionKill), Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Ends the functions that run and only read, and takes back those that wait before the log.", Complexity: "O(1)",
		Tips: []string{"request_policy:all_shards", "response_policy:one_succeeded"},
	},
	{
		Name: "function|list", Arity: -2, Scope: ScopeScan, Merge: MergeSame, Flags: NoScript, Cats: CatScripting,
		Plan: functionLook(functionList), Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Lists the libraries and their functions.", Complexity: "O(N) where N is the number of functions",
		Args: []Arg{{Name: "library-name-pattern", Type: "string", Token: "LIBRARYNAME", Optional: true}, argToken("withcode", "WITHCODE").optional()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "function|load", Arity: -3, Scope: ScopeGlobal, Merge: MergeSame, Flags: Write | DenyOOM | NoScript | Heavy, Cats: CatScripting,
		Plan: functionChange(functionLoad), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Loads a library.", Complexity: "O(1) (considering compilation time is redundant)",
		Args: []Arg{argToken("replace", "REPLACE").optional(), arg("function-code", "string")},
		Tips: functionChangeTips,
	},
	{
		Name: "function|restore", Arity: -3, Scope: ScopeGlobal, Merge: MergeSame, Flags: Write | DenyOOM | NoScript | Heavy, Cats: CatScripting,
		Plan: functionChange(functionRestore), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Loads the libraries of a payload.", Complexity: "O(N) where N is the number of functions on the payload",
		Args: []Arg{arg("serialized-value", "string"), argOneOf("policy", argToken("flush", "FLUSH"), argToken("append", "APPEND"), argToken("replace", "REPLACE")).optional()},
		Tips: functionChangeTips,
	},
	{
		Name: "function|stats", Arity: 2, Scope: ScopeScan, Merge: MergeBusy, Flags: NoScript | AllowBusy, Cats: CatScripting,
		Plan: functionWatch(functionStats), Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Tells which function runs, and how many there are.", Complexity: "O(1)",
		Tips: []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
	},
}
