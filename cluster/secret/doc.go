// Package secret lets two nodes prove to each other that they know a secret of
// their cluster, before either accepts anything else, and protects what they send
// afterwards.
//
// The handshake, on a connection that may be under TLS:
//
//	dialler   "LSP2\r\n", nonce [32]
//	acceptor  "LSP2\r\n", nonce [32]
//	dialler   n u8, n proofs [32]: one for each secret that it knows, the current one first
//	acceptor  which u8, proof [32]: which of the dialler's proofs it accepted, and its own proof
//
// A proof is an HMAC-SHA256. Its key comes from the secret. Its message is the role of the node
// that proves, both nonces and, under TLS, the exporter of the TLS connection. So a proof is good
// for one role on one connection: it cannot be replayed, reflected, or moved to another connection.
// The dialler proves first: a stranger that connects gets a nonce and nothing that it could test
// guesses against.
//
// A dialler without a secret sends n = 0. Most acceptors then close the connection. An acceptor
// that admits strangers answers which = 255, no proof, and the connection continues unprotected.
// Such a connection proves nothing, and carries only what strangers may know.
//
// Without TLS, everything after the handshake travels in records that are encrypted and
// authenticated by keys of this connection (AES-256-GCM, one key for each direction, a counter as
// the nonce). An attacker who relays the handshake between two nodes can therefore neither read nor
// change what comes after it, nor take over the connection. There is no forward secrecy: an
// attacker who records a connection and learns the secret later can read the recording. TLS has
// forward secrecy.
//
// # Invariants
//
//   - Nothing that was received is parsed before it is authenticated, except
//     fields of fixed length.
//   - A node that knows a secret never goes on with a peer that proved none, except
//     as an acceptor that admits strangers.
//   - Neither a secret nor anything that helps to guess it is in an error or a log.
package secret
