package node

import (
	"lockstep/node/member"
	"lockstep/node/relay"
	"lockstep/proto/client"
	"lockstep/proto/pubsub"
	"lockstep/proto/stats"
	"lockstep/proto/tracking"
)

// relays bring events from other nodes to clients.
type relays struct {
	// messages carries published messages to and from other nodes.
	messages *relay.Messages
	// notices tells other nodes what scripts of their clients do on this node.
	notices *relay.Notices
	// events publishes keyspace events.
	events *relay.Events
	// feeds bring the events of shards of which this node has no replica.
	feeds *relay.Feeds
	// tracking tells clients when keys that they cache have changed.
	tracking *tracking.Table
	// witness is told what scripts do on this node.
	witness *client.ScriptWitness
}

// newWitness returns the witness of what scripts do that run on this node for a client.
func (r *relays) newWitness(m *member.Member, stats *stats.Stats, registry *client.Registry) *client.ScriptWitness {
	return &client.ScriptWitness{
		Stats: stats, Registry: registry, Logger: m.Log,
		Deliver: func(kind pubsub.Kind, channel, payload []byte) {
			var later pubsub.Later
			r.messages.Publish(kind, channel, payload, &later)
			later.Kick()
		},
		Logs: func() (slowerThanUs int64, slowlogLen, aclLogLen int) {
			s := m.Config.Current()
			return s.SlowlogLogSlowerThan, int(s.SlowlogMaxLen), int(s.ACLLogMaxLen)
		},
		Self: func() uint64 { return m.Self.Incarnation },
		Tell: func(node uint64, notice []byte) { r.notices.Tell(node, notice) },
	}
}

// kickFeeds makes the feeds check which events are wanted.
func (r *relays) kickFeeds(m *member.Member) {
	if m.Serving.Load() {
		r.feeds.Consumer.Kick()
	}
}
