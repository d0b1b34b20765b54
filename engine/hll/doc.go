// Package hll estimates how many different elements were added to a set. It is the HyperLogLog of
// Redis, bit for bit, in the string in which Redis stores it.
//
// A HyperLogLog has 16384 registers. The low 14 bits of an element's hash choose a register. The
// register keeps the longest run of zeros, plus one, at the start of the other 50 bits of any of
// its elements.
//
// The text is a header of 16 bytes and the registers:
//
//	"HYLL"  encoding  3 bytes of no meaning  8 bytes: estimate, little endian
//
// The top bit of the estimate is set if the estimate is outdated. Encoding 0 is dense: registers of
// 6 bits, lowest bit first, 12288 bytes. Encoding 1 is sparse: runs of registers in order,
//
//	00llllll            l+1 registers are zero
//	01llllll llllllll   l+1 registers are zero, up to 16384
//	1vvvvvll            l+1 registers hold v+1
//
// A sparse text becomes dense if a register exceeds 32, or if the text would exceed a limit of
// bytes. It never becomes sparse again.
//
// The functions here check the texts that they read, because a text may come from SET or RESTORE.
// They change their argument only if they say so.
//
// Sources: Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a near-optimal
// cardinality estimation algorithm", 2007; Heule, Nunkesser, Hall, "HyperLogLog in practice", 2013
// (the sparse form); Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", 2017
// (the estimate).
package hll
