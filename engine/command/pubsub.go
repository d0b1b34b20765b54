package command

// pubSubFamily are the commands on channels. Their handlers are in proto/client, and those of PUBSUB in proto/admin. The
// channels of the sharded ones stand in key specs, as Redis
// lists them, though they are no keys.
var pubSubFamily = []*Spec{
	{
		Name: "subscribe", Arity: -2, Scope: ScopeNode,
		Gateway: WhileSubscribed | Confirms,
		Flags:   PubSub | NoScript | Loading | Stale,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Listens for messages on channels.", Complexity: "O(N) where N is the number of channels to subscribe to",
		Args: []Arg{arg("channel", "string").multiple()},
	},
	{
		Name: "unsubscribe", Arity: -1, Scope: ScopeNode,
		Gateway: WhileSubscribed | Confirms,
		Flags:   PubSub | NoScript | Loading | Stale,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Stops listening on channels, or on all.", Complexity: "O(N) where N is the number of channels to unsubscribe from",
		Args: []Arg{arg("channel", "string").optional().multiple()},
	},
	{
		Name: "psubscribe", Arity: -2, Scope: ScopeNode,
		Gateway: WhileSubscribed | Confirms,
		Flags:   PubSub | NoScript | Loading | Stale,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Listens for messages on all channels whose names match patterns.", Complexity: "O(N) where N is the number of patterns to subscribe to",
		Args: []Arg{argBlock("pattern", arg("pattern", "pattern")).multiple()},
	},
	{
		Name: "punsubscribe", Arity: -1, Scope: ScopeNode,
		Gateway: WhileSubscribed | Confirms,
		Flags:   PubSub | NoScript | Loading | Stale,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Gives up patterns, or all.", Complexity: "O(N) where N is the number of patterns to unsubscribe from",
		Args: []Arg{arg("pattern", "pattern").optional().multiple()},
	},
	{
		Name: "ssubscribe", Arity: -2, Scope: ScopeNode,
		Gateway: WhileSubscribed | Confirms,
		Flags:   PubSub | NoScript | Loading | Stale,
		Keys:    []KeySpec{{Flags: KeyNotKey, First: 1, Last: -1, Step: 1}},
		Group:   "pubsub", Since: "7.0.0",
		Summary: "Listens for messages on shard channels.", Complexity: "O(N) where N is the number of shard channels to subscribe to",
		Args: []Arg{arg("shardchannel", "string").multiple()},
	},
	{
		Name: "sunsubscribe", Arity: -1, Scope: ScopeNode,
		Gateway: WhileSubscribed | Confirms,
		Flags:   PubSub | NoScript | Loading | Stale,
		Keys:    []KeySpec{{Flags: KeyNotKey, First: 1, Last: -1, Step: 1}},
		Group:   "pubsub", Since: "7.0.0",
		Summary: "Stops listening on shard channels, or on all.", Complexity: "O(N) where N is the number of shard channels to unsubscribe from",
		Args: []Arg{arg("shardchannel", "string").optional().multiple()},
	},
	{
		Name: "publish", Arity: 3, Scope: ScopeNode,
		Gateway: Publishes,
		Flags:   PubSub | Loading | Stale | Fast | MayReplicate,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Sends a message to all who listen on a channel, on whatever node.", Complexity: "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed patterns (by any client).",
		Args: []Arg{arg("channel", "string"), arg("message", "string")},
	},
	{
		Name: "spublish", Arity: 3, Scope: ScopeNode,
		Gateway: Publishes,
		Flags:   PubSub | Loading | Stale | Fast | MayReplicate,
		Keys:    []KeySpec{{Flags: KeyNotKey, First: 1, Last: 1, Step: 1}},
		Group:   "pubsub", Since: "7.0.0",
		Summary: "Sends a message to all who listen on a shard channel.", Complexity: "O(N) where N is the number of clients subscribed to the receiving shard channel.",
		Args: []Arg{arg("shardchannel", "string"), arg("message", "string")},
	},
	{
		Name: "pubsub", Arity: -2, Scope: ScopeNode,
		Group: "pubsub", Since: "2.8.0",
		Summary: "A container for commands about channels.", Complexity: "Depends on subcommand.",
		Sub: []*Spec{
			{
				Name: "pubsub|channels", Arity: -2, Scope: ScopeNode, Flags: PubSub | Loading | Stale,
				Group: "pubsub", Since: "2.8.0",
				Summary: "Lists the channels that somebody on this node listens on.", Complexity: "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels and patterns)",
				Args: []Arg{arg("pattern", "pattern").optional()},
			},
			{
				Name: "pubsub|numpat", Arity: 2, Scope: ScopeNode, Flags: PubSub | Loading | Stale,
				Group: "pubsub", Since: "2.8.0",
				Summary: "Counts the patterns that clients of this node listen for.", Complexity: "O(1)",
			},
			{
				Name: "pubsub|numsub", Arity: -2, Scope: ScopeNode, Flags: PubSub | Loading | Stale,
				Group: "pubsub", Since: "2.8.0",
				Summary: "Counts the clients of this node that listen on channels.", Complexity: "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
				Args: []Arg{arg("channel", "string").optional().multiple()},
			},
			{
				Name: "pubsub|shardchannels", Arity: -2, Scope: ScopeNode, Flags: PubSub | Loading | Stale,
				Group: "pubsub", Since: "7.0.0",
				Summary: "Lists the shard channels that somebody on this node listens on.", Complexity: "O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short channels).",
				Args: []Arg{arg("pattern", "pattern").optional()},
			},
			{
				Name: "pubsub|shardnumsub", Arity: -2, Scope: ScopeNode, Flags: PubSub | Loading | Stale,
				Group: "pubsub", Since: "7.0.0",
				Summary: "Counts the clients of this node that listen on shard channels.", Complexity: "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
				Args: []Arg{arg("shardchannel", "string").optional().multiple()},
			},
			helpRow("pubsub", "pubsub", "6.2.0", 0),
		},
	},
}
