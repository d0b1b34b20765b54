package command

import (
	"lockstep/engine/command/arg"
)

// FunctionFamily runs and keeps functions.
var FunctionFamily = []*Spec{
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
		Args: []arg.Arg{arg.Of("library-name", "string")},
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
		Args: []arg.Arg{arg.OneOf("async", arg.Token("async", "ASYNC"), arg.Token("sync", "SYNC")).Opt()},
		Tips: functionChangeTips,
	},
	HelpRow("function", "scripting", "7.0.0", CatScripting),
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
		Args: []arg.Arg{{Name: "library-name-pattern", Type: "string", Token: "LIBRARYNAME", Optional: true}, arg.Token("withcode", "WITHCODE").Opt()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "function|load", Arity: -3, Scope: ScopeGlobal, Merge: MergeSame, Flags: Write | DenyOOM | NoScript | Heavy, Cats: CatScripting,
		Plan: functionChange(functionLoad), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Loads a library.", Complexity: "O(1) (considering compilation time is redundant)",
		Args: []arg.Arg{arg.Token("replace", "REPLACE").Opt(), arg.Of("function-code", "string")},
		Tips: functionChangeTips,
	},
	{
		Name: "function|restore", Arity: -3, Scope: ScopeGlobal, Merge: MergeSame, Flags: Write | DenyOOM | NoScript | Heavy, Cats: CatScripting,
		Plan: functionChange(functionRestore), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Loads the libraries of a payload.", Complexity: "O(N) where N is the number of functions on the payload",
		Args: []arg.Arg{arg.Of("serialized-value", "string"), arg.OneOf("policy", arg.Token("flush", "FLUSH"), arg.Token("append", "APPEND"), arg.Token("replace", "REPLACE")).Opt()},
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
