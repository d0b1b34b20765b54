// Package hashslot maps keys to the 16,384 hash slots of Redis Cluster.
package hashslot

import "bytes"

// Count is the number of hash slots.
const Count = 16384

// Tag returns the part of key that is hashed: the text inside the first "{...}" if there is one and
// it is not empty, otherwise the whole key (redis.io, "Redis Cluster specification", hash tags).
func Tag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	tag := key[open+1:]
	if end := bytes.IndexByte(tag, '}'); end > 0 {
		return tag[:end]
	}
	return key
}

// Of returns the key's hash slot, 0 to Count-1. Each byte of a CRC waits for the one before it.
// Eight bytes at a time need not wait, with a table for each of them (Kounavis and Berry, "A
// Systematic Approach to Building High Performance, Software-based, CRC Generators", 2005).
func Of(key []byte) int {
	var crc uint16
	b := Tag(key)
	for ; len(b) >= 8; b = b[8:] {
		crc = tables[7][byte(crc>>8)^b[0]] ^ tables[6][byte(crc)^b[1]] ^
			tables[5][b[2]] ^ tables[4][b[3]] ^ tables[3][b[4]] ^
			tables[2][b[5]] ^ tables[1][b[6]] ^ tables[0][b[7]]
	}
	for _, c := range b {
		crc = crc<<8 ^ tables[0][byte(crc>>8)^c]
	}
	return int(crc) % Count
}

// tables are CRC-16/XMODEM: polynomial 0x1021, no reflection. tables[n] has the CRC of each byte
// with n zero bytes behind it.
var tables = makeTables()

func makeTables() (t [8][256]uint16) {
	for i := range t[0] {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		t[0][i] = crc
	}
	for n := 1; n < len(t); n++ {
		for i, crc := range t[n-1] {
			t[n][i] = crc<<8 ^ t[0][crc>>8]
		}
	}
	return t
}
