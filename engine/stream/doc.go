// Package stream is the value of a stream key: entries under growing IDs, and
// consumer groups that remember what was delivered and not acknowledged.
//
// Entries stand in nodes. A node is the listpack that Redis would have, byte
// for byte: a master record with the field names of its first entry, then
// entries that are written as differences to it. What Redis does by whole
// nodes (approximate trimming, XINFO) therefore gives the same answers here,
// after deletions too, and a snapshot keeps the nodes as they are. The last
// node, which grows, stands apart; those before it are records of a pack.Tree,
// each behind the sixteen bytes of its first ID.
//
// A group's pending entries are a pack.Tree too: ID, time, number of
// deliveries and consumer in one record; each consumer has the IDs of its own.
//
// Nothing here knows a clock: times come in as arguments, in milliseconds since
// 1970. A stream may be empty. It takes no locks. Clone is cheap: it copies the
// last node and the list of groups, and shares the rest until either side
// changes it.
package stream
