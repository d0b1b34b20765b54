package hll

import "encoding/binary"

// murmur64A is MurmurHash2 for 64 bits, variant A (Appleby), over little-endian words.
func murmur64A(data []byte, seed uint64) uint64 {
	const (
		m = 0xc6a4a7935bd1e995
		r = 47
	)
	h := seed ^ uint64(len(data))*m
	for ; len(data) >= 8; data = data[8:] {
		k := binary.LittleEndian.Uint64(data) * m
		k ^= k >> r
		h = (h ^ k*m) * m
	}
	if len(data) > 0 {
		var tail [8]byte
		copy(tail[:], data)
		h = (h ^ binary.LittleEndian.Uint64(tail[:])) * m
	}
	h ^= h >> r
	h *= m
	return h ^ h>>r
}
