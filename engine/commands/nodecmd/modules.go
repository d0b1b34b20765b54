package nodecmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// ModuleRows is MODULE. No module can be loaded, and tools that list modules (as RedisInsight does
// on its first page) get an empty list.
var ModuleRows = []*command.Spec{{
	Name: "module", Arity: -2, Scope: command.ScopeNode,
	Group: "server", Since: "4.0.0",
	Summary: "A container for commands on modules.", Complexity: "Depends on subcommand.",
	Sub: []*command.Spec{
		command.HelpRow("module", "server", "5.0.0", 0),
		{
			Name: "module|list", Arity: 2, Scope: command.ScopeNode,
			Flags: command.Admin | command.NoScript,
			Group: "server", Since: "4.0.0",
			Summary: "Returns the modules that are loaded: none.", Complexity: "O(1)",
			Tips: []string{"nondeterministic_output_order"},
		},
		{
			Name: "module|load", Arity: -3, Scope: command.ScopeNode,
			Flags: command.Admin | command.NoScript | command.NoAsyncLoading,
			Group: "server", Since: "4.0.0",
			Summary: "Would load a module.", Complexity: "O(1)",
			Args: []arg.Arg{{Name: "path", Type: "string"}, {Name: "arg", Type: "string", Optional: true, Multiple: true}},
		},
		{
			Name: "module|loadex", Arity: -3, Scope: command.ScopeNode,
			Flags: command.Admin | command.NoScript | command.NoAsyncLoading,
			Group: "server", Since: "7.0.0",
			Summary: "Would load a module with its settings.", Complexity: "O(1)",
			Args: []arg.Arg{
				{Name: "path", Type: "string"},
				{Name: "configs", Type: "block", Token: "CONFIG", Optional: true, Multiple: true, MultipleToken: true, Sub: []arg.Arg{{Name: "name", Type: "string"}, {Name: "value", Type: "string"}}},
				{Name: "args", Type: "block", Token: "ARGS", Optional: true, Multiple: true, Sub: []arg.Arg{{Name: "arg", Type: "string"}}},
			},
		},
		{
			Name: "module|unload", Arity: 3, Scope: command.ScopeNode,
			Flags: command.Admin | command.NoScript | command.NoAsyncLoading,
			Group: "server", Since: "4.0.0",
			Summary: "Would unload a module.", Complexity: "O(1)",
			Args: []arg.Arg{{Name: "name", Type: "string"}},
		},
	},
}}
