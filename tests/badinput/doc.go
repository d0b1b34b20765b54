// Package badinput sends what no client should: broken frames, announced lengths that never
// come, single bytes, floods, and requests without end whose replies nobody reads; every
// command with wrong numbers of arguments, keys of every type, and hostile values in each
// place (sweep.go); payloads that are damaged, or bombs; a thousand blocked clients; a million
// commands in a MULTI.
//
// Random choices follow a seed, which is printed. LOCKSTEP_SEED repeats a run, and
// LOCKSTEP_LONG=1 tries every hostile value in each place and hundreds of damages of each
// payload.
//
// The tests also play a node of another program, which sends other nodes what no correct node
// sends (impostor_test.go).
//
// Three things must hold for each. The answer is redis-server's, byte for byte, and Lockstep
// closes the connection if Redis does (both run side by side). The process lives and serves
// other clients. Its memory grows by what has arrived, never by what was announced.
package badinput
