package nodecmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// PubSubRows are the commands on channels. Their handlers are in proto/client, and those of PUBSUB
// in proto/admin. The sharded commands list their channels in key specs, as in Redis, though a
// channel is not a key.
var PubSubRows = []*command.Spec{
	{
		Name: "subscribe", Arity: -2, Scope: command.ScopeNode,
		Gateway: command.WhileSubscribed | command.Confirms,
		Flags:   command.PubSub | command.NoScript | command.Loading | command.Stale,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Listens for messages on channels.", Complexity: "O(N) where N is the number of channels to subscribe to",
		Args: []arg.Arg{arg.Of("channel", "string").Many()},
	},
	{
		Name: "unsubscribe", Arity: -1, Scope: command.ScopeNode,
		Gateway: command.WhileSubscribed | command.Confirms,
		Flags:   command.PubSub | command.NoScript | command.Loading | command.Stale,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Stops listening on channels, or on all.", Complexity: "O(N) where N is the number of channels to unsubscribe from",
		Args: []arg.Arg{arg.Of("channel", "string").Opt().Many()},
	},
	{
		Name: "psubscribe", Arity: -2, Scope: command.ScopeNode,
		Gateway: command.WhileSubscribed | command.Confirms,
		Flags:   command.PubSub | command.NoScript | command.Loading | command.Stale,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Listens for messages on all channels whose names match patterns.", Complexity: "O(N) where N is the number of patterns to subscribe to",
		Args: []arg.Arg{arg.Block("pattern", arg.Of("pattern", "pattern")).Many()},
	},
	{
		Name: "punsubscribe", Arity: -1, Scope: command.ScopeNode,
		Gateway: command.WhileSubscribed | command.Confirms,
		Flags:   command.PubSub | command.NoScript | command.Loading | command.Stale,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Gives up patterns, or all.", Complexity: "O(N) where N is the number of patterns to unsubscribe from",
		Args: []arg.Arg{arg.Of("pattern", "pattern").Opt().Many()},
	},
	{
		Name: "ssubscribe", Arity: -2, Scope: command.ScopeNode,
		Gateway: command.WhileSubscribed | command.Confirms,
		Flags:   command.PubSub | command.NoScript | command.Loading | command.Stale,
		Keys:    []command.KeySpec{{Flags: command.KeyNotKey, First: 1, Last: -1, Step: 1}},
		Group:   "pubsub", Since: "7.0.0",
		Summary: "Listens for messages on shard channels.", Complexity: "O(N) where N is the number of shard channels to subscribe to",
		Args: []arg.Arg{arg.Of("shardchannel", "string").Many()},
	},
	{
		Name: "sunsubscribe", Arity: -1, Scope: command.ScopeNode,
		Gateway: command.WhileSubscribed | command.Confirms,
		Flags:   command.PubSub | command.NoScript | command.Loading | command.Stale,
		Keys:    []command.KeySpec{{Flags: command.KeyNotKey, First: 1, Last: -1, Step: 1}},
		Group:   "pubsub", Since: "7.0.0",
		Summary: "Stops listening on shard channels, or on all.", Complexity: "O(N) where N is the number of shard channels to unsubscribe from",
		Args: []arg.Arg{arg.Of("shardchannel", "string").Opt().Many()},
	},
	{
		Name: "publish", Arity: 3, Scope: command.ScopeNode,
		Gateway: command.Publishes,
		Flags:   command.PubSub | command.Loading | command.Stale | command.Fast | command.MayReplicate,
		Group:   "pubsub", Since: "2.0.0",
		Summary: "Sends a message to all who listen on a channel, on whatever node.", Complexity: "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed patterns (by any client).",
		Args: []arg.Arg{arg.Of("channel", "string"), arg.Of("message", "string")},
	},
	{
		Name: "spublish", Arity: 3, Scope: command.ScopeNode,
		Gateway: command.Publishes,
		Flags:   command.PubSub | command.Loading | command.Stale | command.Fast | command.MayReplicate,
		Keys:    []command.KeySpec{{Flags: command.KeyNotKey, First: 1, Last: 1, Step: 1}},
		Group:   "pubsub", Since: "7.0.0",
		Summary: "Sends a message to all who listen on a shard channel.", Complexity: "O(N) where N is the number of clients subscribed to the receiving shard channel.",
		Args: []arg.Arg{arg.Of("shardchannel", "string"), arg.Of("message", "string")},
	},
	{
		Name: "pubsub", Arity: -2, Scope: command.ScopeNode,
		Group: "pubsub", Since: "2.8.0",
		Summary: "A container for commands about channels.", Complexity: "Depends on subcommand.",
		Sub: []*command.Spec{
			{
				Name: "pubsub|channels", Arity: -2, Scope: command.ScopeNode, Flags: command.PubSub | command.Loading | command.Stale,
				Group: "pubsub", Since: "2.8.0",
				Summary: "Lists the channels that somebody on this node listens on.", Complexity: "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels and patterns)",
				Args: []arg.Arg{arg.Of("pattern", "pattern").Opt()},
			},
			{
				Name: "pubsub|numpat", Arity: 2, Scope: command.ScopeNode, Flags: command.PubSub | command.Loading | command.Stale,
				Group: "pubsub", Since: "2.8.0",
				Summary: "Counts the patterns that clients of this node listen for.", Complexity: "O(1)",
			},
			{
				Name: "pubsub|numsub", Arity: -2, Scope: command.ScopeNode, Flags: command.PubSub | command.Loading | command.Stale,
				Group: "pubsub", Since: "2.8.0",
				Summary: "Counts the clients of this node that listen on channels.", Complexity: "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
				Args: []arg.Arg{arg.Of("channel", "string").Opt().Many()},
			},
			{
				Name: "pubsub|shardchannels", Arity: -2, Scope: command.ScopeNode, Flags: command.PubSub | command.Loading | command.Stale,
				Group: "pubsub", Since: "7.0.0",
				Summary: "Lists the shard channels that somebody on this node listens on.", Complexity: "O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short channels).",
				Args: []arg.Arg{arg.Of("pattern", "pattern").Opt()},
			},
			{
				Name: "pubsub|shardnumsub", Arity: -2, Scope: command.ScopeNode, Flags: command.PubSub | command.Loading | command.Stale,
				Group: "pubsub", Since: "7.0.0",
				Summary: "Counts the clients of this node that listen on shard channels.", Complexity: "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
				Args: []arg.Arg{arg.Of("shardchannel", "string").Opt().Many()},
			},
			command.HelpRow("pubsub", "pubsub", "6.2.0", 0),
		},
	},
}
