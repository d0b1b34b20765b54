package command

// scriptingFamily runs and keeps scripts.
var scriptingFamily = []*Spec{
	evalRow(),
	programRow("evalsha", "sha1", "2.6.0", "Runs a Lua script by the SHA1 of its text.", evalSHAPlan(false), evalSHALogged, false),
	programRow("eval_ro", "script", "7.0.0", "Runs a Lua script that only reads.", evalPlan(true), neverLogged, true),
	programRow("evalsha_ro", "sha1", "7.0.0", "Runs a Lua script that only reads, by the SHA1 of its text.", evalSHAPlan(true), neverLogged, true),
	{
		Name: "script", Arity: -2, Scope: ScopeNode,
		Group: "scripting", Since: "2.6.0",
		Summary: "A container for commands about scripts.", Complexity: "Depends on subcommand.",
		Sub: scriptSubcommands,
	},
}

func evalRow() *Spec {
	s := programRow("eval", "script", "2.6.0", "Runs a Lua script.", evalPlan(false), evalLogged, false)
	s.Evaluates = true
	return s
}

// programRow is the row of a command that runs a program; subject is the argument
// that says which.
func programRow(name, subject, since, summary string, plan func(*Planning, [][]byte) Plan, logged func(*Programs, [][]byte) (logged, known bool), readOnly bool) *Spec {
	what := "function"
	if subject != what {
		what = "script"
	}
	s := &Spec{
		Name: name, Arity: -3, Flags: NoScript | Stale | SkipMonitor | MayReplicate | NoMandatoryKeys | MovableKeys | Heavy, Cats: CatScripting,
		Keys: programKeys(KeyRW | KeyAccess | KeyUpdate), Plan: plan, Logged: logged, Run: runCall,
		Group: "scripting", Since: since,
		Summary: summary, Complexity: "Depends on the " + what + " that is executed.",
		Args: []Arg{arg(subject, "string"), argNumKeys, argKey("key", 1).optional().multiple(), arg("arg", "string").optional().multiple()},
	}
	if readOnly {
		s.Flags |= ReadOnly
		s.Keys = programKeys(KeyRO | KeyAccess)
	}
	return s
}

var scriptSubcommands = []*Spec{
	{
		Name: "script|debug", Arity: 3, Scope: ScopeNode, Flags: NoScript, Cats: CatScripting,
		Group: "scripting", Since: "3.2.0",
		Summary: "Answers that there is no debugger of scripts.", Complexity: "O(1)",
		Args: []Arg{argOneOf("mode", argToken("yes", "YES"), argToken("sync", "SYNC"), argToken("no", "NO"))},
	},
	{
		Name: "script|exists", Arity: -3, Scope: ScopeScan, Merge: MergeLeast, Flags: NoScript, Cats: CatScripting,
		Plan: scriptExistsPlan, Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "2.6.0",
		Summary: "Tells which scripts are in the script cache.", Complexity: "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation).",
		Args: []Arg{arg("sha1", "string").multiple()},
		Tips: []string{"request_policy:all_shards", "response_policy:agg_logical_and"},
	},
	{
		Name: "script|flush", Arity: -2, Scope: ScopeGlobal, Merge: MergeSame, Flags: NoScript, Cats: CatScripting,
		Plan: scriptFlushPlan, Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "2.6.0",
		Summary: "Empties the script cache.", Complexity: "O(N) with N being the number of scripts in cache",
		Args: []Arg{argOneOf("async", argToken("async", "ASYNC"), argToken("sync", "SYNC")).since("6.2.0").optional()},
		Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
	},
	helpRow("script", "scripting", "5.0.0", CatScripting),
	{
		Name: "script|kill", Arity: 2, Scope: ScopeScan, Merge: MergeAny, Flags: NoScript | AllowBusy, Cats: CatScripting,
		Plan: scriptKillPlan, Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "2.6.0",
		Summary: "Ends the scripts that run and only read, and takes back those that wait before the log.", Complexity: "O(1)",
		Tips: []string{"request_policy:all_shards", "response_policy:one_succeeded"},
	},
	{
		Name: "script|load", Arity: 3, Scope: ScopeGlobal, Merge: MergeSame, Flags: NoScript | Stale, Cats: CatScripting,
		Plan: scriptLoadPlan, Check: scriptLoadCheck, Logged: alwaysLogged, Run: runPlanned,
		Group: "scripting", Since: "2.6.0",
		Summary: "Puts a script into the script cache.", Complexity: "O(N) with N being the length in bytes of the script body.",
		Args: []Arg{arg("script", "string")},
		Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
	},
	{
		Name: "script|show", Arity: 3, Scope: ScopeScan, Merge: MergeAny, Flags: NoScript, Cats: CatScripting,
		Plan: scriptShowPlan, Logged: neverLogged, Run: runPlanned,
		Group: "scripting", Since: "8.0.0", Origin: "Valkey",
		Summary: "Returns the text of a script in the script cache.", Complexity: "O(1)",
		Args: []Arg{arg("sha1", "string")},
	},
}
