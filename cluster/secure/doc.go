// Package secure is TLS as a node uses it: the certificates, read again while
// the node runs, and handshakes, of which strangers may have so many under way
// and no more.
//
// A Keeper reads its files every few seconds and compares what is in them: a
// mounted secret changes by the exchange of a link, which file notification
// does not tell. What cannot be used is told to the log once and changes
// nothing; the next reading may find both halves of a pair. A connection is made
// with what is in force when it begins and keeps that to its end.
//
// Invariants:
//   - TLS 1.2 is the oldest version there is.
//   - Whatever is in force was read whole, and its key belongs to its
//     certificate.
//   - Between nodes both sides show a certificate of the cluster's authority, and
//     no session is resumed: each connection is judged by the authorities of its
//     own time.
package secure
