// Package badinput sends what no client should: broken frames, claims of
// lengths that never come, single bytes, floods, and requests without end whose
// replies nobody reads; every command with wrong numbers of arguments, keys of
// every type, and hostile values in each place (sweep.go); payloads that are
// damaged, or bombs; a thousand blocked clients, a million commands in a MULTI.
//
// What is drawn by chance goes by a seed, which is printed; LOCKSTEP_SEED repeats
// a run, and LOCKSTEP_LONG=1 tries every hostile value in each place and hundreds
// of damages of each payload.
//
// Beside clients, it plays a node of another program, which sends other nodes what no right
// one does (impostor_test.go).
//
// Three things must hold for each: the answer is redis-server's, byte for byte,
// and where Redis closes the connection so does Lockstep (both run side by
// side); the process lives and serves others; and its memory grows by what has
// arrived, never by what was claimed.
package badinput
