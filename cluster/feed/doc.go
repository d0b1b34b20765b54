// Package feed tells a node about changes of keys in shards of which it has no
// replica. What its clients are sent (keyspace events, CLIENT TRACKING) must not
// depend on where replicas live.
//
// A node with a replica is a source. Its state machine reports to an Outlet what txns
// do, and the Outlet passes that to its subscribers over the peer connection. A node
// that subscribes is a gateway. It subscribes to each shard of which it has no voting
// replica, for as long as one of its clients wants to know (Consumer). It subscribes to
// keyspace events of some classes and to the names of all keys that change
// separately: each is a feed (Want). Without such clients nothing runs and nothing is
// sent.
//
// A feed is a subscription (type subscription) at one replica: the leader's if the gateway
// can reach it, else that of any voter that has a leader. The gateway polls. The
// source answers as soon as there is something, with everything that has come since
// the last answer; otherwise it answers with an empty batch every so often. So batches
// grow with the load by themselves, one batch is on its way at a time, and a slow
// gateway slows only itself.
//
// # Guarantees
//
// A subscription reports every change, in the order in which its replica ran them. For
// one key that is the order of the log; txns that share no key run side by side on
// every replica. A subscription begins at a position, an index of the log, and reports
// every change behind it. A batch has a position, too: no change in it lies behind
// that. The gateway notes the position before it passes the batch to its clients
// (Heard), and its reads demand that the shard's leader has come as far. Package
// tracking explains why no client then keeps anything stale for ever.
//
// A connection that breaks loses nothing: the source keeps the last batch until the
// next poll confirms it, and the subscription for subscriptionExpiry. A subscription that
// has ended is a gap. It ends if its replica has gone or has had no leader for long,
// or if its gateway did not take the batches within the bounds. The gateway then
// subscribes anew, perhaps at another replica, and tells its tracking clients that any
// key may have changed (Sink.Gap). Keyspace events are delivered at most once:
// those in a gap are lost.
//
// A replica that comes to the gateway takes over from the feed once it votes. It has
// reported all that it ran since it was opened, so tracking clients miss nothing. Its
// keyspace events are held back (Sink.Mute) until it has run what the feed had
// reported, so that none comes twice. A feed replaces a replica that goes in the same
// way: a source reports no event before it has run what the gateway already knows.
//
// A feed of changes moves to a new leader without a gap (cursor.moveToLeader), because
// followers run the log later, up to 100 ms in a calm cluster. A feed of events stays:
// to move it would lose some events or deliver some twice.
//
// # Bounds
//
// At most subscriptionBytesMax wait for one subscription, sourceBytesMax for all of a node,
// and subscriptionsMax are open. A batch is about batchBytesMax long. One request of a
// subscription is under way at a time, and each is answered or given up in time.
package feed
