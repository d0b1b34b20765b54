// Package hashslot maps keys to the 16,384 hash slots of Redis Cluster.
package hashslot

// Count is the number of hash slots.
const Count = 16384

// Tag returns the part of key that is hashed: the text inside the first
// "{...}" if there is one and it is not empty, else the whole key
// (redis.io, "Redis Cluster specification", hash tags).
func Tag(key []byte) []byte {
	for i, c := range key {
		if c != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				if j == i+1 {
					return key
				}
				return key[i+1 : j]
			}
		}
		return key
	}
	return key
}

// Of returns the key's hash slot, 0 to Count-1.
func Of(key []byte) int {
	var crc uint16
	for _, b := range Tag(key) {
		crc = crc<<8 ^ table[byte(crc>>8)^b]
	}
	return int(crc) % Count
}

// table is CRC-16/XMODEM: polynomial 0x1021, no reflection.
var table = makeTable()

func makeTable() (t [256]uint16) {
	for i := range t {
		crc := uint16(i) << 8
		for bit := 0; bit < 8; bit++ {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		t[i] = crc
	}
	return t
}
