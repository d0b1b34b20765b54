// Package secure is TLS for a node: certificates that are read again while the node runs, and a
// bound on the handshakes that strangers may have under way.
//
// A Keeper reads its files every few seconds and compares their contents: a mounted secret changes
// when a link is replaced, and file notification does not report that. Files that cannot be used
// are logged once and change nothing; the next reading may find both halves of a pair. A connection
// uses the certificates that are in force when it begins, until its end.
//
// Invariants:
//   - TLS 1.2 is the oldest supported version.
//   - The certificates in force were read completely, and each key belongs to its
//     certificate.
//   - Between nodes both sides show a certificate of the cluster's authority, and
//     no session is resumed: each connection is checked against the authorities that
//     are in force when it begins.
package secure
