package scriptcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// FunctionRows are the commands that run and store functions.
var FunctionRows = []*command.Spec{
	programRow("fcall", "function", "7.0.0", "Calls a function.", fcallPlan(false), fcallLogged, false),
	programRow("fcall_ro", "function", "7.0.0", "Calls a function that only reads.", fcallPlan(true), neverLogged, true),
	{
		Name: "function", Arity: -2, Scope: command.ScopeNode,
		Group: "scripting", Since: "7.0.0",
		Summary: "A container for commands about functions.", Complexity: "Depends on subcommand.",
		Sub: functionSubcommands,
	},
}

var functionChangeTips = []string{"request_policy:all_shards", "response_policy:all_succeeded"}

var functionSubcommands = []*command.Spec{
	{
		Name: "function|delete", Arity: 3, Scope: command.ScopeGlobal, Merge: command.MergeSame, Flags: command.Write | command.NoScript, Cats: command.CatScripting,
		Plan: functionChange(functionDelete), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Deletes a library and its functions.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Of("library-name", "string")},
		Tips: functionChangeTips,
	},
	{
		Name: "function|dump", Arity: 2, Scope: command.ScopeScan, Merge: command.MergeSame, Flags: command.NoScript, Cats: command.CatScripting,
		Plan: functionLook(functionDump), Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Returns all libraries as a payload for FUNCTION RESTORE.", Complexity: "O(N) where N is the number of functions",
	},
	{
		Name: "function|flush", Arity: -2, Scope: command.ScopeGlobal, Merge: command.MergeSame, Flags: command.Write | command.NoScript, Cats: command.CatScripting,
		Plan: functionChange(functionFlush), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Deletes all libraries.", Complexity: "O(N) where N is the number of functions deleted",
		Args: []arg.Arg{arg.OneOf("async", arg.Token("async", "ASYNC"), arg.Token("sync", "SYNC")).Opt()},
		Tips: functionChangeTips,
	},
	command.HelpRow("function", "scripting", "7.0.0", command.CatScripting),
	{
		Name: "function|kill", Arity: 2, Scope: command.ScopeScan, Merge: command.MergeAny, Flags: command.NoScript | command.AllowBusy, Cats: command.CatScripting,
		Plan: functionWatch(functionKill), Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Ends the functions that run and only read, and takes back those that wait before the log.", Complexity: "O(1)",
		Tips: []string{"request_policy:all_shards", "response_policy:one_succeeded"},
	},
	{
		Name: "function|list", Arity: -2, Scope: command.ScopeScan, Merge: command.MergeSame, Flags: command.NoScript, Cats: command.CatScripting,
		Plan: functionLook(functionList), Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Lists the libraries and their functions.", Complexity: "O(N) where N is the number of functions",
		Args: []arg.Arg{{Name: "library-name-pattern", Type: "string", Token: "LIBRARYNAME", Optional: true}, arg.Token("withcode", "WITHCODE").Opt()},
		Tips: []string{"nondeterministic_output_order"},
	},
	{
		Name: "function|load", Arity: -3, Scope: command.ScopeGlobal, Merge: command.MergeSame, Flags: command.Write | command.DenyOOM | command.NoScript | command.Heavy, Cats: command.CatScripting,
		Plan: functionChange(functionLoad), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Loads a library.", Complexity: "O(1) (considering compilation time is redundant)",
		Args: []arg.Arg{arg.Token("replace", "REPLACE").Opt(), arg.Of("function-code", "string")},
		Tips: functionChangeTips,
	},
	{
		Name: "function|restore", Arity: -3, Scope: command.ScopeGlobal, Merge: command.MergeSame, Flags: command.Write | command.DenyOOM | command.NoScript | command.Heavy, Cats: command.CatScripting,
		Plan: functionChange(functionRestore), Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Loads the libraries of a payload.", Complexity: "O(N) where N is the number of functions on the payload",
		Args: []arg.Arg{arg.Of("serialized-value", "string"), arg.OneOf("policy", arg.Token("flush", "FLUSH"), arg.Token("append", "APPEND"), arg.Token("replace", "REPLACE")).Opt()},
		Tips: functionChangeTips,
	},
	{
		Name: "function|stats", Arity: 2, Scope: command.ScopeScan, Merge: command.MergeBusy, Flags: command.NoScript | command.AllowBusy, Cats: command.CatScripting,
		Plan: functionWatch(functionStats), Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "7.0.0",
		Summary: "Tells which function runs, and how many there are.", Complexity: "O(1)",
		Tips: []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
	},
}
