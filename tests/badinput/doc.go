// Package badinput sends what no client should: broken frames, claims of
// lengths that never come, single bytes, floods, and requests without end whose
// replies nobody reads.
//
// Three things must hold for each: the answer is redis-server's, byte for byte,
// and where Redis closes the connection so does Lockstep (both run side by
// side); the process lives and serves others; and its memory grows by what has
// arrived, never by what was claimed.
package badinput
