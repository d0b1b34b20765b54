package nodecmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/commands/keycmd"
)

// IntrospectionRows are the commands that look into a node. Their handlers are in proto/admin,
// except those of MEMORY USAGE and MONITOR.
var IntrospectionRows = []*command.Spec{
	keycmd.MemoryRow,
	{
		Name: "monitor", Arity: 1, Scope: command.ScopeNode,
		Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
		Group: "server", Since: "1.0.0",
		Summary: "Shows the connection what the node's clients run from now on.", Complexity: "O(1)",
	},
	{
		Name: "replconf", Arity: -1, Scope: command.ScopeNode,
		Flags: command.Admin | command.NoScript | command.Loading | command.Stale | command.AllowBusy,
		Group: "server", Since: "3.0.0", System: true,
		Summary: "Tells what a client that asks for a copy can read.", Complexity: "O(1)",
	},
	{
		Name: "sync", Arity: 1, Scope: command.ScopeNode,
		Gateway: command.CallsOut,
		Flags:   command.Admin | command.NoScript | command.NoAsyncLoading | command.NoMulti,
		Group:   "server", Since: "1.0.0",
		Summary: "Sends one consistent RDB file of all shards; nothing follows it.", Complexity: "O(N)",
	},
	{
		Name: "psync", Arity: -3, Scope: command.ScopeNode,
		Gateway: command.CallsOut,
		Flags:   command.Admin | command.NoScript | command.NoAsyncLoading | command.NoMulti,
		Args:    []arg.Arg{{Name: "replicationid", Type: "string"}, {Name: "offset", Type: "integer"}},
		Group:   "server", Since: "2.8.0",
		Summary: "Sends one consistent RDB file of all shards; nothing follows it.", Complexity: "O(N)",
	},
	{
		Name: "latency", Arity: -2, Scope: command.ScopeNode,
		Group: "server", Since: "2.8.13",
		Summary: "A container for commands on what took long.", Complexity: "Depends on subcommand.",
		Sub: []*command.Spec{
			{
				Name: "latency|doctor", Arity: 2, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "2.8.13",
				Summary: "Tells in words what took long, and what may help.", Complexity: "O(1)",
				Tips: latencyTips,
			},
			{
				Name: "latency|graph", Arity: 3, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "2.8.13",
				Summary: "Draws the samples of an event.", Complexity: "O(1)",
				Args: []arg.Arg{{Name: "event", Type: "string"}},
				Tips: latencyTips,
			},
			command.HelpRow("latency", "server", "2.8.13", 0),
			{
				Name: "latency|histogram", Arity: -2, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "7.0.0",
				Summary: "Returns how many calls of commands took how long.", Complexity: "O(N) where N is the number of commands with latency information being retrieved.",
				Args: []arg.Arg{{Name: "command", Type: "string", Optional: true, Multiple: true}},
				Tips: latencyTips,
			},
			{
				Name: "latency|history", Arity: 3, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "2.8.13",
				Summary: "Returns the samples of an event.", Complexity: "O(1)",
				Args: []arg.Arg{{Name: "event", Type: "string"}},
				Tips: latencyTips,
			},
			{
				Name: "latency|latest", Arity: 2, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "2.8.13",
				Summary: "Returns the latest sample of every event.", Complexity: "O(1)",
				Tips: latencyTips,
			},
			{
				Name: "latency|reset", Arity: -2, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
				Group: "server", Since: "2.8.13",
				Summary: "Forgets the samples of events.", Complexity: "O(1)",
				Args: []arg.Arg{{Name: "event", Type: "string", Optional: true, Multiple: true}},
				Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
			},
		},
	},
}

// latencyTips are the tips of nearly all subcommands of LATENCY.
var latencyTips = []string{"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"}
