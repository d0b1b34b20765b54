package command

// clusterFamily are the commands on the cluster. Their functions stand in
// proto/client.
var clusterFamily = []*Spec{
	{
		Name: "cluster", Arity: -2, Scope: ScopeNode,
		Group: "cluster", Since: "3.0.0",
		Summary: "A container for commands on the cluster.", Complexity: "Depends on subcommand.",
		Sub: []*Spec{
			{
				Name: "cluster|countkeysinslot", Arity: 3, Scope: ScopeNode,
				Flags: Stale,
				Group: "cluster", Since: "3.0.0",
				Summary: "Counts the keys of a hash slot.", Complexity: "O(1)",
				Args: []Arg{{Name: "slot", Type: "integer"}},
			},
			{
				Name: "cluster|getkeysinslot", Arity: 4, Scope: ScopeNode,
				Flags: Stale,
				Group: "cluster", Since: "3.0.0",
				Summary: "Lists keys of a hash slot.", Complexity: "O(log(N)) where N is the number of requested keys",
				Args: []Arg{{Name: "slot", Type: "integer"}, {Name: "count", Type: "integer"}},
				Tips: []string{"nondeterministic_output"},
			},
			{
				Name: "cluster|help", Arity: 2, Scope: ScopeNode,
				Flags: Loading | Stale,
				Group: "cluster", Since: "5.0.0",
				Summary: "Describes the subcommands.", Complexity: "O(1)",
			},
			{
				Name: "cluster|info", Arity: 2, Scope: ScopeNode,
				Flags: Stale,
				Group: "cluster", Since: "3.0.0",
				Summary: "Tells how the cluster is.", Complexity: "O(1)",
				Tips: []string{"nondeterministic_output"},
			},
			{
				Name: "cluster|keyslot", Arity: 3, Scope: ScopeNode,
				Flags: Stale,
				Group: "cluster", Since: "3.0.0",
				Summary: "Returns a key's hash slot.", Complexity: "O(N) where N is the number of bytes in the key",
				Args: []Arg{{Name: "key", Type: "string"}},
			},
			{
				Name: "cluster|myid", Arity: 2, Scope: ScopeNode,
				Flags: Stale,
				Group: "cluster", Since: "3.0.0",
				Summary: "Returns the node's id.", Complexity: "O(1)",
			},
			{
				Name: "cluster|nodes", Arity: 2, Scope: ScopeNode,
				Flags: Stale,
				Group: "cluster", Since: "3.0.0",
				Summary: "Lists the nodes in Redis Cluster's text form.", Complexity: "O(N) where N is the total number of Cluster nodes",
				Tips: []string{"nondeterministic_output"},
			},
			{
				Name: "cluster|shards", Arity: 2, Scope: ScopeNode,
				Flags: Stale,
				Group: "cluster", Since: "7.0.0",
				Summary: "Maps hash slots to shards and their nodes.", Complexity: "O(N) where N is the total number of cluster nodes",
				Tips: []string{"nondeterministic_output"},
			},
			{
				Name: "cluster|slots", Arity: 2, Scope: ScopeNode,
				Flags: Stale,
				Group: "cluster", Since: "3.0.0", DeprecatedSince: "7.0.0", ReplacedBy: "`CLUSTER SHARDS`",
				Summary: "Maps hash slots to nodes.", Complexity: "O(N) where N is the total number of Cluster nodes",
				Tips: []string{"nondeterministic_output"},
			},
		},
	},
	{
		Name: "readonly", Arity: 1, Scope: ScopeNode,
		Flags: Loading | Stale | Fast, Cats: CatConnection,
		Group: "cluster", Since: "3.0.0",
		Summary: "Lets the connection read from this node's own replica.", Complexity: "O(1)",
	},
	{
		Name: "readwrite", Arity: 1, Scope: ScopeNode,
		Flags: Loading | Stale | Fast, Cats: CatConnection,
		Group: "cluster", Since: "3.0.0",
		Summary: "Ends READONLY.", Complexity: "O(1)",
	},
	{
		Name: "asking", Arity: 1, Scope: ScopeNode,
		Flags: Fast, Cats: CatConnection,
		Group: "cluster", Since: "3.0.0",
		Summary: "Does nothing here: slots do not move.", Complexity: "O(1)",
	},
	{
		Name: "lockstep", Arity: -2, Scope: ScopeNode,
		Flags: Admin | NoScript | Loading | Stale,
		Group: "lockstep", Since: "0.1.0",
		Summary: "A container for commands that Redis does not have.",
		Sub: []*Spec{
			{
				Name: "lockstep|status", Arity: 2, Scope: ScopeNode,
				Flags: Admin | NoScript | Loading | Stale,
				Group: "lockstep", Since: "0.1.0",
				Summary: "Describes the whole cluster, in JSON.",
			},
			{
				Name: "lockstep|slots", Arity: 2, Scope: ScopeNode,
				Flags: Admin | NoScript | Loading | Stale,
				Group: "lockstep", Since: "0.1.0",
				Summary: "Lists the lock slots that are held or waited for now.",
			},
			{
				Name: "lockstep|commands", Arity: 2, Scope: ScopeNode,
				Flags: Admin | NoScript | Loading | Stale,
				Group: "lockstep", Since: "0.1.0",
				Summary: "Lists the commands of this server.",
			},
			{
				Name: "lockstep|transfer", Arity: -2, Scope: ScopeNode,
				Flags: Admin | NoScript | Loading | Stale,
				Group: "lockstep", Since: "0.1.0",
				Summary: "Gives the leadership of a shard to another node.",
			},
			{
				Name: "lockstep|remove", Arity: -3, Scope: ScopeNode,
				Flags: Admin | NoScript | Loading | Stale,
				Group: "lockstep", Since: "0.1.0",
				Summary: "Takes a node out of the cluster for good.",
			},
			{
				Name: "lockstep|leave", Arity: 2, Scope: ScopeNode,
				Flags: Admin | NoScript | Loading | Stale,
				Group: "lockstep", Since: "0.1.0",
				Summary: "Lets this node leave the cluster for good.",
			},
			{
				Name: "lockstep|snapshot", Arity: 2, Scope: ScopeNode,
				Flags: Admin | NoScript | Loading | Stale,
				Group: "lockstep", Since: "0.1.0",
				Summary: "Writes a snapshot of every shard and cuts the logs.",
			},
			{
				Name: "lockstep|help", Arity: 2, Scope: ScopeNode,
				Flags: Admin | NoScript | Loading | Stale,
				Group: "lockstep", Since: "0.1.0",
				Summary: "Describes the subcommands.",
			},
		},
	},
}
