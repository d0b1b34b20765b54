package admin

import (
	"lockstep/proto/client"
	"lockstep/proto/pubsub"
)

// channelCommands are the subcommands of PUBSUB.
type channelCommands struct{ subscriptions Subscriptions }

func (h *channelCommands) handlers() client.Handlers {
	return client.Handlers{
		"pubsub|channels": h.channels, "pubsub|shardchannels": h.channels,
		"pubsub|numsub": h.numSub, "pubsub|shardnumsub": h.numSub,
		"pubsub|numpat": h.numPat, "pubsub|help": pubSubHelp,
	}
}

func (h *channelCommands) numPat(r *client.Request, _ [][]byte) {
	r.Out.Int(int64(h.subscriptions.Hub().Names(pubsub.Pattern)))
}

func pubSubKind(args [][]byte) pubsub.Kind {
	if args[1][0]|0x20 == 's' {
		return pubsub.Shard
	}
	return pubsub.Channel
}

func (h *channelCommands) channels(r *client.Request, args [][]byte) {
	if len(args) > 3 {
		r.Out.Error("ERR unknown subcommand or wrong number of arguments for '" + string(args[1]) + "'. Try PUBSUB HELP.")
		return
	}
	pattern := "*"
	if len(args) == 3 {
		pattern = string(args[2])
	}
	names := h.subscriptions.Hub().Channels(pubSubKind(args), pattern)
	r.Out.Array(len(names))
	for _, name := range names {
		r.Out.BulkString(name)
	}
}

func (h *channelCommands) numSub(r *client.Request, args [][]byte) {
	names := args[2:]
	r.Out.Array(2 * len(names))
	for _, name := range names {
		r.Out.Bulk(name)
		r.Out.Int(int64(h.subscriptions.Hub().Listeners(pubSubKind(args), string(name))))
	}
}

func pubSubHelp(r *client.Request, _ [][]byte) {
	help(r, "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"CHANNELS [<pattern>]", "    The channels that clients of this node listen on, of those that match <pattern>.",
		"NUMPAT", "    The number of patterns that clients of this node listen for.",
		"NUMSUB [<channel> ...]", "    The number of clients of this node that listen on the channels.",
		"SHARDCHANNELS [<pattern>]", "    The same as CHANNELS for shard channels.",
		"SHARDNUMSUB [<shardchannel> ...]", "    The same as NUMSUB for shard channels.")
}
