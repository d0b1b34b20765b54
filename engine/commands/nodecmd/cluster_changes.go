package nodecmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// clusterChanges are the subcommands of CLUSTER that would change the cluster. They exist so that
// tools get an explanation, and they are always refused.
var clusterChanges = []*command.Spec{
	refusedOfCluster("addslots", -3, "3.0.0", "Would give hash slots to this node.", arg.Arg{Name: "slot", Type: "integer", Multiple: true}),
	refusedOfCluster("addslotsrange", -4, "7.0.0", "Would give ranges of hash slots to this node.", slotRanges),
	{
		Name: "cluster|bumpepoch", Arity: 2, Scope: command.ScopeNode,
		Flags: command.Admin | command.Stale | command.NoAsyncLoading,
		Group: "cluster", Since: "3.0.0",
		Summary: "Would raise the configuration epoch.", Complexity: "O(1)",
		Tips: []string{"nondeterministic_output"},
	},
	refusedOfCluster("delslots", -3, "3.0.0", "Would take hash slots from this node.", arg.Arg{Name: "slot", Type: "integer", Multiple: true}),
	refusedOfCluster("delslotsrange", -4, "7.0.0", "Would take ranges of hash slots from this node.", slotRanges),
	refusedOfCluster("failover", -2, "3.0.0", "Would make this node a master.", arg.Arg{
		Name: "options", Type: "oneof", Optional: true,
		Sub: []arg.Arg{{Name: "force", Type: "pure-token", Token: "FORCE"}, {Name: "takeover", Type: "pure-token", Token: "TAKEOVER"}},
	}),
	refusedOfCluster("flushslots", 2, "3.0.0", "Would take all hash slots from this node."),
	refusedOfCluster("forget", 3, "3.0.0", "Would take a node out of the cluster.", nodeID),
	refusedOfCluster("meet", -4, "3.0.0", "Would take a node into the cluster.",
		arg.Arg{Name: "ip", Type: "string"}, arg.Arg{Name: "port", Type: "integer"},
		arg.Arg{Name: "cluster_bus_port", Type: "integer", Since: "4.0.0", Optional: true}),
	refusedOfCluster("replicate", 3, "3.0.0", "Would make this node a replica.", nodeID),
	{
		Name: "cluster|reset", Arity: -2, Scope: command.ScopeNode,
		Flags: command.Admin | command.NoScript | command.Stale,
		Group: "cluster", Since: "3.0.0",
		Summary: "Would take this node out of its cluster.", Complexity: "O(1)",
		Args: []arg.Arg{{
			Name: "hard_soft", Type: "oneof", Optional: true,
			Sub: []arg.Arg{{Name: "hard", Type: "pure-token", Token: "HARD"}, {Name: "soft", Type: "pure-token", Token: "SOFT"}},
		}},
	},
	refusedOfCluster("set-config-epoch", 3, "3.0.0", "Would set the configuration epoch.", arg.Arg{Name: "config-epoch", Type: "integer"}),
	refusedOfCluster("setslot", -4, "3.0.0", "Would give a hash slot to a node.", arg.Arg{Name: "slot", Type: "integer"}, arg.Arg{
		Name: "subcommand", Type: "oneof",
		Sub: []arg.Arg{
			{Name: "node-id", Type: "string", Token: "IMPORTING"}, {Name: "node-id", Type: "string", Token: "MIGRATING"},
			{Name: "node-id", Type: "string", Token: "NODE"}, {Name: "stable", Type: "pure-token", Token: "STABLE"},
		},
	}),
}

var (
	nodeID     = arg.Arg{Name: "node-id", Type: "string"}
	slotRanges = arg.Arg{
		Name: "start-slot_end-slot", Type: "block", Multiple: true,
		Sub: []arg.Arg{{Name: "start-slot", Type: "integer"}, {Name: "end-slot", Type: "integer"}},
	}
)

// refusedOfCluster is the row of a subcommand that is always refused.
func refusedOfCluster(name string, arity int, since, summary string, args ...arg.Arg) *command.Spec {
	return &command.Spec{
		Name: "cluster|" + name, Arity: arity, Scope: command.ScopeNode,
		Flags: command.Admin | command.Stale | command.NoAsyncLoading,
		Group: "cluster", Since: since,
		Summary: summary, Complexity: "O(1)",
		Args: args,
	}
}
