// Package secure is TLS as a node uses it: certificates that are read again while the
// node runs, and a bound on the handshakes that strangers may have under way.
//
// A Keeper reads its files every few seconds and compares their contents: a mounted
// secret changes when a link is exchanged, and file notification does not report that.
// Files that cannot be used are logged once and change nothing; the next reading may
// find both halves of a pair. A connection uses what is in force when it begins, and
// keeps that to its end.
//
// Invariants:
//   - TLS 1.2 is the oldest version that is spoken.
//   - Whatever is in force was read whole, and its key belongs to its
//     certificate.
//   - Between nodes both sides show a certificate of the cluster's authority, and
//     no session is resumed: each connection is checked against the authorities that
//     are in force when it begins.
package secure
