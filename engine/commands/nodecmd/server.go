// Package nodecmd is the rows of commands that the gateway answers itself: those on connections,
// messages, users, the node and the cluster.
//
// It has rows and no handlers. The handlers are in proto/client, which knows connections. The rows
// are here because COMMAND, ACL rules and the documentation read one table.
package nodecmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// ServerRows are the commands on the node. Their handlers are in proto/admin.
var ServerRows = []*command.Spec{
	{
		Name: "command", Arity: -1, Scope: command.ScopeNode,
		Gateway: command.Light,
		Flags:   command.Loading | command.Stale, Cats: command.CatConnection,
		Group: "server", Since: "2.8.13",
		Summary: "Describes all commands.", Complexity: "O(N) where N is the total number of Redis commands",
		Tips: []string{"nondeterministic_output_order"},
		Sub: []*command.Spec{
			{
				Name: "command|count", Arity: 2, Scope: command.ScopeNode,
				Gateway: command.Light,
				Flags:   command.Loading | command.Stale, Cats: command.CatConnection,
				Group: "server", Since: "2.8.13",
				Summary: "Returns the number of commands.", Complexity: "O(1)",
			},
			{
				Name: "command|docs", Arity: -2, Scope: command.ScopeNode,
				Gateway: command.Light,
				Flags:   command.Loading | command.Stale, Cats: command.CatConnection,
				Group: "server", Since: "7.0.0",
				Summary: "Describes commands for people.", Complexity: "O(N) where N is the number of commands to look up",
				Args: []arg.Arg{{Name: "command-name", Type: "string", Optional: true, Multiple: true}},
				Tips: []string{"nondeterministic_output_order"},
			},
			{
				Name: "command|getkeys", Arity: -4, Scope: command.ScopeNode,
				Gateway: command.Light,
				Flags:   command.Loading | command.Stale, Cats: command.CatConnection,
				Group: "server", Since: "2.8.13",
				Summary: "Finds the keys in a whole command.", Complexity: "O(N) where N is the number of arguments to the command",
			},
			{
				Name: "command|getkeysandflags", Arity: -4, Scope: command.ScopeNode,
				Gateway: command.Light,
				Flags:   command.Loading | command.Stale, Cats: command.CatConnection,
				Group: "server", Since: "7.0.0",
				Summary: "Finds the keys in a whole command and how they are used.", Complexity: "O(N) where N is the number of arguments to the command",
			},
			command.HelpRow("command", "server", "5.0.0", command.CatConnection),
			{
				Name: "command|info", Arity: -2, Scope: command.ScopeNode,
				Gateway: command.Light,
				Flags:   command.Loading | command.Stale, Cats: command.CatConnection,
				Group: "server", Since: "2.8.13",
				Summary: "Describes commands for clients.", Complexity: "O(N) where N is the number of commands to look up",
				Args: []arg.Arg{{Name: "command-name", Type: "string", Optional: true, Multiple: true}},
				Tips: []string{"nondeterministic_output_order"},
			},
			{
				Name: "command|list", Arity: -2, Scope: command.ScopeNode,
				Gateway: command.Light,
				Flags:   command.Loading | command.Stale, Cats: command.CatConnection,
				Group: "server", Since: "7.0.0",
				Summary: "Lists the names of commands.", Complexity: "O(N) where N is the total number of Redis commands",
				Args: []arg.Arg{{Name: "filterby", Type: "oneof", Token: "FILTERBY", Optional: true, Sub: []arg.Arg{{Name: "module-name", Type: "string", Token: "MODULE"}, {Name: "category", Type: "string", Token: "ACLCAT"}, {Name: "pattern", Type: "pattern", Token: "PATTERN"}}}},
				Tips: []string{"nondeterministic_output_order"},
			},
		},
	},
	{
		Name: "time", Arity: 1, Scope: command.ScopeNode,
		Gateway: command.Light,
		Flags:   command.Loading | command.Stale | command.Fast,
		Group:   "server", Since: "2.6.0",
		Summary: "Returns the node's time.", Complexity: "O(1)",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "lolwut", Arity: -1, Scope: command.ScopeNode,
		Gateway: command.Light,
		Flags:   command.ReadOnly | command.Fast | command.NotInScripts,
		Group:   "server", Since: "5.0.0",
		Summary: "Draws a picture of characters and tells the version.", Complexity: "O(N) with N the size of the picture",
		Args: []arg.Arg{arg.Of("version", "integer").After("VERSION").Opt()},
	},
	{
		Name: "role", Arity: 1, Scope: command.ScopeNode,
		Flags: command.NoScript | command.Loading | command.Stale | command.Fast, Cats: command.CatAdmin | command.CatDangerous,
		Group: "server", Since: "2.8.12",
		Summary: "Returns the node's place in replication.", Complexity: "O(1)",
	},
	{
		Name: "wait", Arity: 3, Scope: command.ScopeNode,
		Flags: command.NoScript, Cats: command.CatConnection,
		Group: "generic", Since: "3.0.0",
		Summary: "Waits until earlier writes are on so many replicas; here they always are on a quorum.", Complexity: "O(1)",
		Args: []arg.Arg{{Name: "numreplicas", Type: "integer"}, {Name: "timeout", Type: "integer"}},
		Tips: []string{"request_policy:all_shards", "response_policy:agg_min"},
	},
	{
		Name: "config", Arity: -2, Scope: command.ScopeNode,
		Group: "server", Since: "2.0.0",
		Summary: "A container for commands on settings.", Complexity: "Depends on subcommand.",
		Sub: []*command.Spec{
			{
				Name: "config|get", Arity: -3, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "2.0.0",
				Summary: "Returns settings that match patterns.", Complexity: "O(N) when N is the number of configuration parameters provided",
				Args: []arg.Arg{{Name: "parameter", Type: "block", Multiple: true, Sub: []arg.Arg{{Name: "parameter", Type: "string"}}}},
			},
			command.HelpRow("config", "server", "5.0.0", 0),
			{
				Name: "config|resetstat", Arity: 2, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "2.0.0",
				Summary: "Sets the statistics back.", Complexity: "O(1)",
			},
			{
				Name: "config|rewrite", Arity: 2, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "2.8.0",
				Summary: "Writes changed settings into the configuration file.", Complexity: "O(1)",
			},
			{
				Name: "config|set", Arity: -4, Scope: command.ScopeNode,
				Secrets: configSecrets,
				Flags:   command.Admin | command.NoScript | command.Loading | command.Stale,
				Group:   "server", Since: "2.0.0",
				Summary: "Changes settings, all or none.", Complexity: "O(N) when N is the number of configuration parameters provided",
				Args: []arg.Arg{{Name: "parameter_value", Type: "block", Multiple: true, Sub: []arg.Arg{{Name: "parameter", Type: "string"}, {Name: "value", Type: "string"}}}},
				Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
			},
		},
	},
	{
		Name: "info", Arity: -1, Scope: command.ScopeNode,
		Flags: command.Loading | command.Stale, Cats: command.CatDangerous,
		Group: "server", Since: "1.0.0",
		Summary: "Returns facts and statistics of the node.", Complexity: "O(1)",
		Args: []arg.Arg{{Name: "section", Type: "string", Optional: true, Multiple: true}},
		Tips: []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
	},
	{
		Name: "slowlog", Arity: -2, Scope: command.ScopeNode,
		Group: "server", Since: "2.2.12",
		Summary: "A container for commands on the slow log.", Complexity: "Depends on subcommand.",
		Sub: []*command.Spec{
			{
				Name: "slowlog|get", Arity: -2, Scope: command.ScopeNode,
				Flags: command.Admin | command.Loading | command.Stale,
				Group: "server", Since: "2.2.12",
				Summary: "Returns entries of the slow log.", Complexity: "O(N) where N is the number of entries returned",
				Args: []arg.Arg{{Name: "count", Type: "integer", Optional: true}},
				Tips: []string{"request_policy:all_nodes", "nondeterministic_output"},
			},
			command.HelpRow("slowlog", "server", "6.2.0", 0),
			{
				Name: "slowlog|len", Arity: 2, Scope: command.ScopeNode,
				Flags: command.Admin | command.Loading | command.Stale,
				Group: "server", Since: "2.2.12",
				Summary: "Returns the length of the slow log.", Complexity: "O(1)",
				Tips: []string{"request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"},
			},
			{
				Name: "slowlog|reset", Arity: 2, Scope: command.ScopeNode,
				Flags: command.Admin | command.Loading | command.Stale,
				Group: "server", Since: "2.2.12",
				Summary: "Empties the slow log.", Complexity: "O(N) where N is the number of entries in the slowlog",
				Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
			},
		},
	},
	{
		Name: "debug", System: true, Arity: -2, Scope: command.ScopeNode,
		Gateway: command.Debugs,
		Flags:   command.Admin | command.NoScript | command.Loading | command.Stale,
		Group:   "server", Since: "1.0.0",
		Summary: "Tools for tests; off unless enable-debug-command says otherwise.", Complexity: "Depends on subcommand.",
	},
	{
		Name: "shutdown", Arity: -1, Scope: command.ScopeNode,
		Flags: command.Admin | command.NoScript | command.Loading | command.Stale | command.NoMulti | command.AllowBusy,
		Group: "server", Since: "1.0.0",
		Summary: "Ends the node.", Complexity: "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)",
		Args: []arg.Arg{{Name: "nosave_save", Type: "oneof", Optional: true, Sub: []arg.Arg{{Name: "nosave", Type: "pure-token", Token: "NOSAVE"}, {Name: "save", Type: "pure-token", Token: "SAVE"}}}, {Name: "now", Type: "pure-token", Token: "NOW", Since: "7.0.0", Optional: true}, {Name: "force", Type: "pure-token", Token: "FORCE", Since: "7.0.0", Optional: true}, {Name: "abort", Type: "pure-token", Token: "ABORT", Since: "7.0.0", Optional: true}},
	},
	{
		Name: "lastsave", Arity: 1, Scope: command.ScopeNode,
		Flags: command.Loading | command.Stale | command.Fast, Cats: command.CatAdmin | command.CatDangerous,
		Group: "server", Since: "1.0.0",
		Summary: "Returns when the last snapshot was taken.", Complexity: "O(1)",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "bgsave", Arity: -1, Scope: command.ScopeNode,
		Flags: command.Admin | command.NoScript | command.NoAsyncLoading,
		Group: "server", Since: "1.0.0",
		Summary: "Takes a snapshot in the background.", Complexity: "O(1)",
		Args: []arg.Arg{{Name: "schedule", Type: "pure-token", Token: "SCHEDULE", Since: "3.2.2", Optional: true}},
	},
	{
		Name: "save", Arity: 1, Scope: command.ScopeNode,
		Flags: command.Admin | command.NoScript | command.NoAsyncLoading | command.NoMulti,
		Group: "server", Since: "1.0.0",
		Summary: "Takes a snapshot.", Complexity: "O(N) where N is the total number of keys in all databases",
	},
	{
		Name: "waitaof", Arity: 4, Scope: command.ScopeNode,
		Flags: command.NoScript, Cats: command.CatConnection,
		Group: "generic", Since: "7.2.0",
		Summary: "Waits until earlier writes are on so many disks; here they always are on a quorum's.", Complexity: "O(1)",
		Args: []arg.Arg{{Name: "numlocal", Type: "integer"}, {Name: "numreplicas", Type: "integer"}, {Name: "timeout", Type: "integer"}},
		Tips: []string{"request_policy:all_shards", "response_policy:agg_min"},
	},
}
