// Package feed lets a node hear of changes of keys in shards of which it has no
// replica: what its clients are told (keyspace events, CLIENT TRACKING) must not
// depend on where replicas live.
//
// A node with a replica is a source: its state machine tells an Outlet what txns
// do, and who asked for it gets it over the peer connection. A gateway asks, for
// each shard that it has no voting replica of, for as long as somebody wants to
// hear (Intake): keyspace events of some classes, or the names of all keys that
// change, each a feed of its own (Want). When nobody wants any, nothing runs and
// nothing is sent.
//
// A feed is a hearing at one replica: the leader's if it can be had, else any
// that votes and has a leader. The gateway polls; the source answers as soon as
// there is something, with all that has gathered meanwhile, and else with an
// empty answer every so often. So batches grow with the load by themselves, one
// is on its way at a time, and a gateway that is slow slows itself alone.
//
// # What is promised
//
// A hearing tells of every change, in the order in which its replica ran them,
// which for one key is that of the log: txns that share no key run side by side on
// every replica. It begins at a position, an index of the log: every change
// behind it is told of. A batch bears a position, too: no change in it lies
// behind that. The gateway notes it before it tells its clients of the batch
// (Heard), and its reads demand of the shard's leader to be as far; package
// tracking says why no client then keeps anything stale for ever.
//
// A connection that breaks loses nothing: the source keeps the last batch until
// the next poll confirms it, and the hearing for hearingExpiry. A hearing that
// has ended is a gap: its replica has gone, has had no leader for long, or its
// gateway did not take what there was to tell within the bounds. The gateway
// begins anew, with another replica perhaps, and its tracking clients are told
// that any key may have changed (Sink.Unheard). Keyspace events are told at most
// once: those in a gap are lost.
//
// A replica that comes to the gateway takes over once it votes. It has told of all
// that it ran since it was opened, so tracking clients miss nothing; its
// keyspace events are held back (Sink.Quiet) until it has run what the feed had
// told, so that none comes twice. A replica that goes is replaced by a feed in
// the same way, and a source tells no event before it has run what the gateway
// has heard already.
//
// A feed of changes moves to a new leader, without a gap (tail.prefer), for
// followers run the log later, up to 100 ms in a calm cluster. A feed of events
// stays: it could not be moved without losing some or telling some twice.
//
// # Bounds
//
// hearingBytesMax waits for one hearing, sourceBytesMax for all of a node,
// hearingsMax are open; a batch is about batchBytesMax long. One request of a
// hearing is under way at a time, and every one has an answer or is given up in
// time.
package feed
