package command

import (
	"lockstep/engine/command/arg"
)

// ModuleFamily is MODULE: no module can be loaded, and tools that list them (as
// RedisInsight does on its first page) are told that there is none.
var ModuleFamily = []*Spec{{
	Name: "module", Arity: -2, Scope: ScopeNode,
	Group: "server", Since: "4.0.0",
	Summary: "A container for commands on modules.", Complexity: "Depends on subcommand.",
	Sub: []*Spec{
		HelpRow("module", "server", "5.0.0", 0),
		{
			Name: "module|list", Arity: 2, Scope: ScopeNode,
			Flags: Admin | NoScript,
			Group: "server", Since: "4.0.0",
			Summary: "Returns the modules that are loaded: none.", Complexity: "O(1)",
			Tips: []string{"nondeterministic_output_order"},
		},
		{
			Name: "module|load", Arity: -3, Scope: ScopeNode,
			Flags: Admin | NoScript | NoAsyncLoading,
			Group: "server", Since: "4.0.0",
			Summary: "Would load a module.", Complexity: "O(1)",
			Args: []arg.Arg{{Name: "path", Type: "string"}, {Name: "arg", Type: "string", Optional: true, Multiple: true}},
		},
		{
			Name: "module|loadex", Arity: -3, Scope: ScopeNode,
			Flags: Admin | NoScript | NoAsyncLoading,
			Group: "server", Since: "7.0.0",
			Summary: "Would load a module with its settings.", Complexity: "O(1)",
			Args: []arg.Arg{
				{Name: "path", Type: "string"},
				{Name: "configs", Type: "block", Token: "CONFIG", Optional: true, Multiple: true, MultipleToken: true, Sub: []arg.Arg{{Name: "name", Type: "string"}, {Name: "value", Type: "string"}}},
				{Name: "args", Type: "block", Token: "ARGS", Optional: true, Multiple: true, Sub: []arg.Arg{{Name: "arg", Type: "string"}}},
			},
		},
		{
			Name: "module|unload", Arity: 3, Scope: ScopeNode,
			Flags: Admin | NoScript | NoAsyncLoading,
			Group: "server", Since: "4.0.0",
			Summary: "Would unload a module.", Complexity: "O(1)",
			Args: []arg.Arg{{Name: "name", Type: "string"}},
		},
	},
}}
