package scriptcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// Rows are the commands that run and store scripts.
var Rows = []*command.Spec{
	evalRow(),
	programRow("evalsha", "sha1", "2.6.0", "Runs a Lua script by the SHA1 of its text.", evalSHAPlan(false), evalSHALogged, false),
	programRow("eval_ro", "script", "7.0.0", "Runs a Lua script that only reads.", evalPlan(true), neverLogged, true),
	programRow("evalsha_ro", "sha1", "7.0.0", "Runs a Lua script that only reads, by the SHA1 of its text.", evalSHAPlan(true), neverLogged, true),
	{
		Name: "script", Arity: -2, Scope: command.ScopeNode,
		Group: "scripting", Since: "2.6.0",
		Summary: "A container for commands about scripts.", Complexity: "Depends on subcommand.",
		Sub: scriptSubcommands,
	},
}

func evalRow() *command.Spec {
	s := programRow("eval", "script", "2.6.0", "Runs a Lua script.", evalPlan(false), evalLogged, false)
	s.Evaluates = true
	return s
}

// programRow is the row of a command that runs a program. subject names the argument that
// identifies the program.
func programRow(name, subject, since, summary string, plan func(*command.Planning, [][]byte) command.Plan, logged func(*command.Programs, [][]byte) (logged, known bool), readOnly bool) *command.Spec {
	what := "function"
	if subject != what {
		what = "script"
	}
	s := &command.Spec{
		Name: name, Arity: -3, Flags: command.NoScript | command.Stale | command.SkipMonitor | command.MayReplicate | command.NoMandatoryKeys | command.MovableKeys | command.Heavy, Cats: command.CatScripting,
		Keys: programKeys(command.KeyRW | command.KeyAccess | command.KeyUpdate), Plan: plan, Logged: logged, Run: runCall,
		Group: "scripting", Since: since,
		Summary: summary, Complexity: "Depends on the " + what + " that is executed.",
		Args: []arg.Arg{arg.Of(subject, "string"), arg.NumKeys, arg.Key("key", 1).Opt().Many(), arg.Of("arg", "string").Opt().Many()},
	}
	if readOnly {
		s.Flags |= command.ReadOnly
		s.Keys = programKeys(command.KeyRO | command.KeyAccess)
	}
	return s
}

var scriptSubcommands = []*command.Spec{
	{
		Name: "script|debug", Arity: 3, Scope: command.ScopeNode, Flags: command.NoScript, Cats: command.CatScripting,
		Group: "scripting", Since: "3.2.0",
		Summary: "Answers that there is no debugger of scripts.", Complexity: "O(1)",
		Args: []arg.Arg{arg.OneOf("mode", arg.Token("yes", "YES"), arg.Token("sync", "SYNC"), arg.Token("no", "NO"))},
	},
	{
		Name: "script|exists", Arity: -3, Scope: command.ScopeScan, Merge: command.MergeLeast, Flags: command.NoScript, Cats: command.CatScripting,
		Plan: scriptExistsPlan, Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "2.6.0",
		Summary: "Tells which scripts are in the script cache.", Complexity: "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation).",
		Args: []arg.Arg{arg.Of("sha1", "string").Many()},
		Tips: []string{"request_policy:all_shards", "response_policy:agg_logical_and"},
	},
	{
		Name: "script|flush", Arity: -2, Scope: command.ScopeGlobal, Merge: command.MergeSame, Flags: command.NoScript, Cats: command.CatScripting,
		Plan: scriptFlushPlan, Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "2.6.0",
		Summary: "Empties the script cache.", Complexity: "O(N) with N being the number of scripts in cache",
		Args: []arg.Arg{arg.OneOf("async", arg.Token("async", "ASYNC"), arg.Token("sync", "SYNC")).AddedIn("6.2.0").Opt()},
		Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
	},
	command.HelpRow("script", "scripting", "5.0.0", command.CatScripting),
	{
		Name: "script|kill", Arity: 2, Scope: command.ScopeScan, Merge: command.MergeAny, Flags: command.NoScript | command.AllowBusy, Cats: command.CatScripting,
		Plan: scriptKillPlan, Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "2.6.0",
		Summary: "Ends the scripts that run and only read, and takes back those that wait before the log.", Complexity: "O(1)",
		Tips: []string{"request_policy:all_shards", "response_policy:one_succeeded"},
	},
	{
		Name: "script|load", Arity: 3, Scope: command.ScopeGlobal, Merge: command.MergeSame, Flags: command.NoScript | command.Stale, Cats: command.CatScripting,
		Plan: scriptLoadPlan, Check: scriptLoadCheck, Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "2.6.0",
		Summary: "Puts a script into the script cache.", Complexity: "O(N) with N being the length in bytes of the script body.",
		Args: []arg.Arg{arg.Of("script", "string")},
		Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
	},
	{
		Name: "script|show", Arity: 3, Scope: command.ScopeScan, Merge: command.MergeAny, Flags: command.NoScript, Cats: command.CatScripting,
		Plan: scriptShowPlan, Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "8.0.0", Origin: "Valkey",
		Summary: "Returns the text of a script in the script cache.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Of("sha1", "string")},
	},
}

// InternalRows are commands on scripts that clients cannot send.
var InternalRows = []*command.Spec{
	{
		Name: "lockstep.keep", Arity: 2, Flags: command.Write, Plan: keepPlan, Logged: alwaysLogged,
		Run: runPlanned, Group: "internal", Summary: "Puts a script into the script cache that was evaluated by a read.",
	},
}
