// Package stream is the value of a stream key: entries with growing IDs, and consumer groups that
// remember which entries were delivered and not acknowledged.
//
// Entries are stored in nodes. A node is the listpack that Redis would have, byte for byte: a
// master record with the field names of its first entry, then entries that are encoded as
// differences to it. So features of Redis that depend on whole nodes (approximate trimming, XINFO)
// give the same replies here, also after deletions, and a snapshot keeps the nodes as they are. The
// last node, which grows, is separate. Those before it are records of a pack.Tree, each behind the
// sixteen bytes of its first ID.
//
// A group's pending entries are a pack.Tree too, with ID, time, number of deliveries and consumer
// in one record. Each consumer has the IDs of its own pending entries.
//
// The package has no clock: times are arguments, in milliseconds since 1970. A stream may be empty.
// It takes no locks. Clone is cheap: it copies the last node and the list of groups, and shares the
// rest until either side changes it.
package stream
