// Package hll estimates how many different elements were added to a set: the
// HyperLogLog of Redis, bit for bit, in the string in which Redis keeps it.
//
// A HyperLogLog has 16384 registers. An element's hash chooses one by its low
// 14 bits, and the register keeps the longest run of zeros, plus one, that the
// other 50 bits of any of its elements began with.
//
// The text is a header of 16 bytes and the registers:
//
//	"HYLL"  encoding  3 bytes of no meaning  8 bytes: estimate, little endian
//
// The top bit of the estimate says that it is out of date. Encoding 0 is dense:
// registers of 6 bits, lowest bit first, 12288 bytes. Encoding 1 is sparse: runs
// of registers in order,
//
//	00llllll            l+1 registers are zero
//	01llllll llllllll   l+1 registers are zero, up to 16384
//	1vvvvvll            l+1 registers hold v+1
//
// A sparse text becomes dense when a register passes 32, or when the text would
// pass a limit of bytes. It never becomes sparse again.
//
// The functions here check what they read: a text may come from SET or RESTORE.
// They change no text that was passed in, but where they say so.
//
// Sources: Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a
// near-optimal cardinality estimation algorithm", 2007; Heule, Nunkesser, Hall,
// "HyperLogLog in practice", 2013 (the sparse form); Ertl, "New cardinality
// estimation algorithms for HyperLogLog sketches", 2017 (the estimate).
package hll
