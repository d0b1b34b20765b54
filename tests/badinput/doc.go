// Package badinput sends input that no client should send: broken frames, announced lengths that
// never come, single bytes, floods, and endless requests whose replies are not read; every command
// with wrong numbers of arguments, keys of every type, and hostile values in each place (sweep.go);
// payloads that are damaged, or bombs; a thousand blocked clients; a million commands in a MULTI.
//
// Random choices follow a seed, which is printed. LOCKSTEP_SEED repeats a run, and LOCKSTEP_LONG=1
// tries every hostile value in each place and damages each payload hundreds of times.
//
// The tests also act as a node with another program, which sends other nodes requests that no
// correct node sends (impostor_test.go).
//
// Three things must hold for each. The answer is redis-server's, byte for byte, and Lockstep closes
// the connection if Redis does (both run side by side). The process lives and serves other clients.
// Its memory grows with the bytes that have arrived, never with the bytes that were announced.
package badinput
