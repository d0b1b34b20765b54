package nodecmd

import (
	"slices"

	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// clusterLooks are the subcommands of CLUSTER that change nothing.
var clusterLooks = []*command.Spec{
	{
		Name: "cluster|countkeysinslot", Arity: 3, Scope: command.ScopeNode,
		Flags: command.Stale,
		Group: "cluster", Since: "3.0.0",
		Summary: "Counts the keys of a hash slot.", Complexity: "O(1)",
		Args: []arg.Arg{{Name: "slot", Type: "integer"}},
	},
	{
		Name: "cluster|getkeysinslot", Arity: 4, Scope: command.ScopeNode,
		Flags: command.Stale,
		Group: "cluster", Since: "3.0.0",
		Summary: "Lists keys of a hash slot.", Complexity: "O(log(N)) where N is the number of requested keys",
		Args: []arg.Arg{{Name: "slot", Type: "integer"}, {Name: "count", Type: "integer"}},
		Tips: []string{"nondeterministic_output"},
	},
	command.HelpRow("cluster", "cluster", "5.0.0", 0),
	{
		Name: "cluster|info", Arity: 2, Scope: command.ScopeNode,
		Flags: command.Stale,
		Group: "cluster", Since: "3.0.0",
		Summary: "Tells how the cluster is.", Complexity: "O(1)",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "cluster|keyslot", Arity: 3, Scope: command.ScopeNode,
		Gateway: command.Light,
		Flags:   command.Stale,
		Group:   "cluster", Since: "3.0.0",
		Summary: "Returns a key's hash slot.", Complexity: "O(N) where N is the number of bytes in the key",
		Args: []arg.Arg{{Name: "key", Type: "string"}},
	},
	{
		Name: "cluster|myid", Arity: 2, Scope: command.ScopeNode,
		Gateway: command.Light,
		Flags:   command.Stale,
		Group:   "cluster", Since: "3.0.0",
		Summary: "Returns the node's id.", Complexity: "O(1)",
	},
	{
		Name: "cluster|nodes", Arity: 2, Scope: command.ScopeNode,
		Flags: command.Stale,
		Group: "cluster", Since: "3.0.0",
		Summary: "Lists the nodes in Redis Cluster's text form.", Complexity: "O(N) where N is the total number of Cluster nodes",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "cluster|shards", Arity: 2, Scope: command.ScopeNode,
		Flags: command.Stale,
		Group: "cluster", Since: "7.0.0",
		Summary: "Maps hash slots to shards and their nodes.", Complexity: "O(N) where N is the total number of cluster nodes",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "cluster|slots", Arity: 2, Scope: command.ScopeNode,
		Flags: command.Stale,
		Group: "cluster", Since: "3.0.0", DeprecatedSince: "7.0.0", ReplacedBy: "`CLUSTER SHARDS`",
		Summary: "Maps hash slots to nodes.", Complexity: "O(N) where N is the total number of Cluster nodes",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "cluster|count-failure-reports", Arity: 3, Scope: command.ScopeNode,
		Flags: command.Admin | command.Stale,
		Group: "cluster", Since: "3.0.0",
		Summary: "Counts the reports that a node has failed.", Complexity: "O(1)",
		Args: []arg.Arg{nodeID},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "cluster|links", Arity: 2, Scope: command.ScopeNode,
		Flags: command.Stale,
		Group: "cluster", Since: "7.0.0",
		Summary: "Lists the connections to and from other nodes.", Complexity: "O(N) where N is the total number of Cluster nodes",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "cluster|myshardid", Arity: 2, Scope: command.ScopeNode,
		Flags: command.Stale,
		Group: "cluster", Since: "7.2.0",
		Summary: "Returns the id of the node's shard.", Complexity: "O(1)",
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "cluster|replicas", Arity: 3, Scope: command.ScopeNode,
		Flags: command.Admin | command.Stale,
		Group: "cluster", Since: "5.0.0",
		Summary: "Lists the replicas of a master.", Complexity: "O(N) where N is the number of replicas",
		Args: []arg.Arg{nodeID},
		Tips: []string{"nondeterministic_output"},
	},
	{
		Name: "cluster|saveconfig", Arity: 2, Scope: command.ScopeNode,
		Flags: command.Admin | command.Stale | command.NoAsyncLoading,
		Group: "cluster", Since: "3.0.0",
		Summary: "Does nothing: what a node knows of its cluster is on disk.", Complexity: "O(1)",
	},
	{
		Name: "cluster|slaves", Arity: 3, Scope: command.ScopeNode,
		Flags: command.Admin | command.Stale,
		Group: "cluster", Since: "3.0.0", DeprecatedSince: "5.0.0", ReplacedBy: "`CLUSTER REPLICAS`",
		Summary: "Lists the replicas of a master.", Complexity: "O(N) where N is the number of replicas",
		Args: []arg.Arg{nodeID},
		Tips: []string{"nondeterministic_output"},
	},
}

// ClusterRows are the commands on the cluster. Their handlers are in proto/admin, except those on
// the connection, which are in proto/client.
var ClusterRows = []*command.Spec{
	{
		Name: "cluster", Arity: -2, Scope: command.ScopeNode,
		Group: "cluster", Since: "3.0.0",
		Summary: "A container for commands on the cluster.", Complexity: "Depends on subcommand.",
		Sub: slices.Concat(clusterLooks, clusterChanges),
	},
	{
		Name: "readonly", Arity: 1, Scope: command.ScopeNode,
		Gateway: command.Light,
		Flags:   command.Loading | command.Stale | command.Fast, Cats: command.CatConnection,
		Group: "cluster", Since: "3.0.0",
		Summary: "Lets the connection read from this node's own replica.", Complexity: "O(1)",
	},
	{
		Name: "readwrite", Arity: 1, Scope: command.ScopeNode,
		Gateway: command.Light,
		Flags:   command.Loading | command.Stale | command.Fast, Cats: command.CatConnection,
		Group: "cluster", Since: "3.0.0",
		Summary: "Ends READONLY.", Complexity: "O(1)",
	},
	{
		Name: "asking", Arity: 1, Scope: command.ScopeNode,
		Gateway: command.Light,
		Flags:   command.Fast, Cats: command.CatConnection,
		Group: "cluster", Since: "3.0.0",
		Summary: "Does nothing here: slots do not move.", Complexity: "O(1)",
	},
	{
		Name: "lockstep", Arity: -2, Scope: command.ScopeNode,
		Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
		Group: "lockstep", Since: "0.1.0", Origin: "Lockstep",
		Summary: "A container for commands that Redis does not have.",
		Sub: []*command.Spec{
			lookRow("lockstep|status", 2, "Describes the whole cluster, in JSON."),
			lookRow("lockstep|slots", 2, "Lists the lock slots that tasks hold or wait for now."),
			lookRow("lockstep|commands", 2, "Lists the commands of this server."),
			lookRow("lockstep|placement", 2, "Describes where replicas and leaders are, and what moves, in JSON."),
			operatorRow("lockstep|replicas", 3, "Sets how many replicas each shard is to have."),
			operatorRow("lockstep|transfer", -2, "Hands the leadership of a shard over to another node."),
			operatorRow("lockstep|remove", -3, "Removes a node from the cluster for good."),
			operatorRow("lockstep|replace", 4, "Removes a node once another one can take its place."),
			operatorRow("lockstep|promote", 3, "Lets a learner vote."),
			operatorRow("lockstep|drain", -3, "Lets a node lead nothing, or ends that."),
			operatorRow("lockstep|upgrade", -2, "Raises the cluster's version."),
			operatorRow("lockstep|clock", 3, "Sets the time of day of each shard to the clocks of most of its voters."),
			lookRow("lockstep|examine", 2, "Describes the nodes' machines, in JSON."),
			operatorRow("lockstep|secret", 3, "Gives the cluster a new secret."),
			lookRow("lockstep|support", 2, "Describes this node for a support bundle, in JSON."),
			operatorRow("lockstep|leave", 2, "Lets this node leave the cluster for good."),
			operatorRow("lockstep|snapshot", 2, "Writes a snapshot of every shard and shortens the logs."),
			{
				Name: "lockstep|backup", Arity: -3, Scope: command.ScopeNode,
				Flags: command.Admin | command.NoScript,
				Group: "lockstep", Since: "0.1.0", Origin: "Lockstep",
				Summary: "Reads one consistent RDB file of each shard, in pieces.",
			},
			{
				Name: "lockstep|staleness", Arity: 3, Scope: command.ScopeNode,
				Gateway: command.Light,
				Flags:   command.NoScript | command.Loading | command.Stale | command.Fast, Cats: command.CatConnection,
				Group: "lockstep", Since: "0.1.0", Origin: "Lockstep",
				Summary: "Bounds how old the data is that READONLY reads of the connection see.", Complexity: "O(1)",
				Args: []arg.Arg{arg.Of("milliseconds", "integer")},
			},
			{
				Name: "lockstep|token", Arity: 2, Scope: command.ScopeNode,
				Flags: command.NoScript | command.Loading | command.Stale | command.Fast, Cats: command.CatConnection,
				Group: "lockstep", Since: "0.1.0", Origin: "Lockstep",
				Summary: "Returns a token of all that the connection has seen and done.", Complexity: "O(N) with N the number of shards it has used",
			},
			{
				Name: "lockstep|waitfor", Arity: -3, Scope: command.ScopeNode,
				Flags: command.NoScript | command.Loading | command.Stale, Cats: command.CatConnection,
				Group: "lockstep", Since: "0.1.0", Origin: "Lockstep",
				Summary: "Makes the connection's reads see what a token names.", Complexity: "O(N) with N the number of shards of the token",
				Args: []arg.Arg{arg.Of("token", "string"), arg.Of("milliseconds", "integer").Opt()},
			},
			lookRow("lockstep|help", 2, "Describes the subcommands."),
		},
	},
}

// operatorRow is the row of a command for operators.
func operatorRow(name string, arity int, summary string) *command.Spec {
	return &command.Spec{
		Name: name, Arity: arity, Scope: command.ScopeNode,
		Flags: command.Admin | command.NoScript | command.Loading | command.Stale,
		Group: "lockstep", Since: "0.1.0", Origin: "Lockstep",
		Summary: summary,
	}
}

// lookRow is the row of a command for operators that only looks.
func lookRow(name string, arity int, summary string) *command.Spec {
	s := operatorRow(name, arity, summary)
	s.Looks = true
	return s
}
