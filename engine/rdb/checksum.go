package rdb

import "encoding/binary"

// jones are the tables of Redis's CRC-64 (Jones polynomial, reflected, no inversion) for eight
// bytes in a row. The standard library has such tables only for its own polynomials. With a single
// table the checksum takes four times as long. That was a tenth of a server's time under writes of
// a kilobyte, for its snapshots.
var jones = func() (tables [8][256]uint64) {
	const polynomial = 0x95ac9329ac4bc9b5
	for i := range tables[0] {
		sum := uint64(i)
		for range 8 {
			odd := sum & 1
			sum >>= 1
			if odd == 1 {
				sum ^= polynomial
			}
		}
		tables[0][i] = sum
	}
	for i := range tables[0] {
		for n := 1; n < len(tables); n++ {
			before := tables[n-1][i]
			tables[n][i] = tables[0][byte(before)] ^ before>>8
		}
	}
	return tables
}()

// checksum continues a checksum over more data.
func checksum(sum uint64, data []byte) uint64 {
	for ; len(data) >= 8; data = data[8:] {
		sum ^= binary.LittleEndian.Uint64(data)
		sum = jones[7][byte(sum)] ^ jones[6][byte(sum>>8)] ^ jones[5][byte(sum>>16)] ^ jones[4][byte(sum>>24)] ^
			jones[3][byte(sum>>32)] ^ jones[2][byte(sum>>40)] ^ jones[1][byte(sum>>48)] ^ jones[0][byte(sum>>56)]
	}
	for _, b := range data {
		sum = jones[0][byte(sum)^b] ^ sum>>8
	}
	return sum
}
